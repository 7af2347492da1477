"""What an engine leaves of a turn, plus boundary and suffix, against the ids of the whole render."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from titocli.families.family import Family
from titocli.families.kwargs import resolve_kwargs
from titocli.families.messages import normalise_messages, normalise_tools
from titocli.families.renderer import Renderer, family_renderer
from titocli.jsonvalue import Message
from titocli.tokens.tokenizer import Tokenizer
from titocli.verify.conversations import Conversation, generate

TRUNCATED = "cut off"

#: How the templates end a turn, by how a family's name begins: the stop token first.  GLM's turns have no end.
WRITTEN_ENDS: Mapping[str, str] = {
    "qwen": "<|im_end|>\n",
    "nemotron": "<|im_end|>\n",
    "kimi": "<|im_end|>",
    "minimax": "[e~[\n",
    "inkling": "<|content_model_end_sampling|>",
    "deepseek": "<｜end▁of▁sentence｜>",
    "glm": "",
}
#: With these a model of GLM opens the next turn, which the render opens again.
_GLM_OPENERS = ("<|user|>", "<|observation|>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """Ids around one append.

    ``turn`` are those of the text up to and with the assistant turn, without the stop token and what the boundary
    inserts; ``written_end`` are the ids between it and ``suffix`` in the whole render, ``whole``.
    """

    turn: Sequence[int]
    written_end: Sequence[int]
    suffix: Sequence[int]
    whole: Sequence[int]


def check_boundaries(family: Family, tokenizer: Tokenizer, *, count: int, seed: int) -> Mapping[str, int]:
    """Asserts it for appends of generated conversations; returns how many were checked with each end."""
    renderer = family_renderer(family, tokenizer)
    checked: Counter[str] = Counter()
    for conversation in generate(family, count, seed):
        for append in _appends(renderer, conversation):
            checked.update(_check(renderer, append))
    return checked


def _check(renderer: Renderer, append: Append) -> Iterator[str]:
    turn, suffix = append.turn, append.suffix
    assert [*turn, *append.written_end, *suffix] == append.whole
    for stop in renderer.family.stop_tokens:
        stop_id = _id(renderer, stop)
        # The render has the stop token that the template writes; after another nothing is inserted and nothing
        # dropped, so that the difference is that token alone.
        is_written = stop in _written_stops(renderer.family)
        expected = append.whole if is_written else [*turn, stop_id, *suffix]
        assert _joined(renderer, [*turn, stop_id], suffix) == expected, stop
        yield stop
    # A turn that was cut off is closed as the template closes it: the whole render, where nothing else is missing.
    assert _joined(renderer, turn, suffix) == append.whole
    assert _joined(renderer, turn[:-1], suffix) == [*turn[:-1], *append.written_end, *suffix]
    yield TRUNCATED


def _written_stops(family: Family) -> tuple[str, ...]:
    """The stop tokens after which the conversation goes on as it is rendered."""
    end = _written_end(family)
    return tuple(stop for stop in family.stop_tokens if end.startswith(stop)) if end else _GLM_OPENERS


def _written_end(family: Family) -> str:
    return next(end for start, end in WRITTEN_ENDS.items() if family.name.startswith(start))


def _joined(renderer: Renderer, stored: Sequence[int], suffix: Sequence[int]) -> list[int]:
    joint = renderer.boundary.joint(stored[-1])
    return [*stored[: len(stored) - joint.trim], *joint.glue, *suffix]


def _appends(renderer: Renderer, conversation: Conversation) -> Iterator[Append]:
    """After each assistant turn the shortest and the longest append that a session may make."""
    messages = normalise_messages(renderer.family, conversation.messages)
    for end in range(1, len(messages)):
        if messages[end - 1]["role"] == "assistant":
            states = list(_states(renderer.family, messages, end))
            for state in sorted({*states[:1], *states[-1:]}):
                yield from _append(renderer, conversation, messages, end, state)


def _states(family: Family, messages: Sequence[Message], end: int) -> Iterator[int]:
    roles = [str(message["role"]) for message in messages]
    for state in range(end + 1, len(roles) + 1):
        if roles[state - 1] not in family.append_roles:
            return
        if roles[state - 1 : state + 1] != ["tool", "tool"]:
            yield state


def _append(
    renderer: Renderer, conversation: Conversation, messages: Sequence[Message], end: int, state: int
) -> Iterator[Append]:
    tools = normalise_tools(conversation.tools)
    kwargs = resolve_kwargs(renderer.family, conversation.kwargs)
    text = renderer.marked_text(messages[:end], tools=tools, kwargs=kwargs, generation_prompt=False)
    whole = renderer.marked_text(messages[:state], tools=tools, kwargs=kwargs, generation_prompt=True)
    suffix = renderer.suffix(messages[end:state], history=messages[:end], tools=tools, kwargs=kwargs)
    written_end = list(renderer.tokenizer.encode(_written_end(renderer.family)))
    stored = list(renderer.ids(text))
    if written_end and stored[-len(written_end) :] != written_end:
        return  # a turn that printed nothing
    yield Append(
        turn=stored[: len(stored) - len(written_end)],
        written_end=written_end,
        suffix=list(suffix.ids),
        whole=list(renderer.ids(whole)),
    )


def _id(renderer: Renderer, token: str) -> int:
    token_id = renderer.tokenizer.token_id(token)
    assert token_id is not None, token
    return token_id
