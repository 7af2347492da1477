"""Generated conversations: seeded, realistic in order, unpleasant in detail.

Each conversation depends on the seed and its own index alone, so one can be made again without the others.
``titocli.verify.features`` counts what a set of conversations contains.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

from titocli.families.family import Family, Role, ToolRuns
from titocli.jsonvalue import JsonValue, Message, Tool
from titocli.verify import tool_samples
from titocli.verify.text_samples import INLINE_THINKING, WRAPPED_RESULTS, any_text, chance, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Messages, tools and kwargs as a client would send them: not normalised, not resolved.

    ``seed`` and ``index`` make it again: ``conversation(family, seed, index)``.
    """

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] | None
    kwargs: Mapping[str, JsonValue]
    seed: int
    index: int


def generate(family: Family, count: int, seed: int) -> Iterator[Conversation]:
    """``count`` conversations that the family can render, the same ones for the same seed."""
    return (conversation(family, seed, index) for index in range(count))


def conversation(family: Family, seed: int, index: int) -> Conversation:
    """The conversation number ``index`` of a seed."""
    random = Random(f"{seed}:{index}")  # noqa: S311 - samples, not secrets
    return Conversation(
        messages=tuple(_messages(random, family)),
        tools=tool_samples.tools(random),
        kwargs=_kwargs(random, family),
        seed=seed,
        index=index,
    )


def _kwargs(random: Random, family: Family) -> dict[str, JsonValue]:
    """Each kwarg that has finite values: absent, or one of them."""
    finite = {
        name: values for name, values in {**family.pinned_kwargs, **family.turn_kwargs}.items() if values
    }
    return {name: random.choice(values) for name, values in finite.items() if chance(random, 0.6)}


def _messages(random: Random, family: Family) -> Iterator[Message]:
    if chance(random, 0.5):
        yield {"role": Role.SYSTEM.value, "content": _text_content(random)}
    if chance(random, 0.05):
        # No rule asks for a user message.
        yield _assistant(random)
        yield from _answers(random, family)
        return
    for number in range(random.randint(1, 3)):
        if number and Role.SYSTEM in family.append_roles and chance(random, 0.3):
            yield {"role": Role.SYSTEM.value, "content": _text_content(random)}
        yield from _questions(random, family)
        yield from _answers(random, family)


def _questions(random: Random, family: Family) -> Iterator[Message]:
    for _ in range(2 if chance(random, 0.15) else 1):
        yield {"role": Role.USER.value, "content": _user_content(random, family)}


def _answers(random: Random, family: Family) -> Iterator[Message]:
    """Tool-using turns, then plain answers: usually one, sometimes none or two in a row."""
    for _ in range(random.choice((0, 0, 1, 1, 2))):
        yield from _tool_step(random, family)
    for _ in range(random.choice((0, 1, 1, 1, 1, 2))):
        yield _assistant(random)


def _tool_step(random: Random, family: Family) -> Iterator[Message]:
    calls = [tool_samples.tool_call(random, family, number) for number in range(random.randint(1, 3))]
    yield {**_assistant(random), "tool_calls": calls}
    results: list[Message] = [
        {"role": Role.TOOL.value, "tool_call_id": call["id"], "content": _text_content(random)}
        for call in calls
    ]
    # Where a template puts a run in the order of the calls, clients send it in any order.
    in_any_order = family.tool_runs is ToolRuns.COMPLETE
    yield from random.sample(results, k=len(results)) if in_any_order else results


def _assistant(random: Random) -> Message:
    content = random.choice(INLINE_THINKING) if chance(random, 0.06) else any_text(random)
    message: dict[str, JsonValue] = {"role": Role.ASSISTANT.value, "content": content}
    if chance(random, 0.75):
        message["reasoning_content"] = None if chance(random, 0.1) else any_text(random)
    return message


def _text_content(random: Random) -> JsonValue:
    """A string, or a list of text parts that means the same."""
    if chance(random, 0.1):
        return [{"type": "text", "text": any_text(random)} for _ in range(random.randint(1, 2))]
    return any_text(random)


def _user_content(random: Random, family: Family) -> JsonValue:
    if chance(random, 0.08):
        return random.choice(WRAPPED_RESULTS)
    visual = [part for name, part in _VISUAL_PARTS.items() if name in family.content_parts]
    if visual and chance(random, 0.15):
        parts = [{"type": "text", "text": text(random)}, *random.choices(visual, k=random.randint(1, 2))]
        return random.sample(parts, k=len(parts))
    return _text_content(random)


_PICTURE = "data:image/png;base64,iVBORw0KGgo="
_VISUAL_PARTS: Mapping[str, Mapping[str, JsonValue]] = {
    "image": {"type": "image", "image": _PICTURE},
    "image_url": {"type": "image_url", "image_url": {"url": _PICTURE}},
    "video": {"type": "video", "video": "clip.mp4"},
    "video_url": {"type": "video_url", "video_url": {"url": "clip.mp4"}},
    "audio": {"type": "audio", "audio": "clip.wav"},
    "audio_url": {"type": "audio_url", "audio_url": {"url": "clip.wav"}},
    "input_audio": {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}},
}


__all__ = ["Conversation", "conversation", "generate"]
