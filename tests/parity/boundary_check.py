"""What an engine leaves of a turn, plus boundary and suffix, against the ids of the whole render."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from titocli.families.family import Family, Glue
from titocli.families.kwargs import resolve_kwargs
from titocli.families.messages import normalise_messages, normalise_tools
from titocli.families.renderer import Renderer, family_renderer
from titocli.jsonvalue import Message
from titocli.tokens.tokenizer import Tokenizer
from titocli.verify.conversations import Conversation, generate


def check_boundaries(family: Family, tokenizer: Tokenizer, *, count: int, seed: int) -> int:
    """Asserts it for every append of generated conversations; returns how many there were."""
    renderer = family_renderer(family, tokenizer)
    appends = [
        (conversation, *append)
        for conversation in generate(family, count, seed)
        for append in _appends(family, conversation.messages)
    ]
    for conversation, turn_end, state_end in appends:
        _check(renderer, conversation, turn_end, state_end)
    return len(appends)


def _appends(family: Family, messages: Sequence[Message]) -> Iterator[tuple[int, int]]:
    """After each assistant turn, the shortest append that a session may make."""
    roles = [str(message["role"]) for message in messages]
    for turn_end in range(1, len(messages)):
        if roles[turn_end - 1] == "assistant" and roles[turn_end] in family.append_roles:
            run = 1
            while roles[turn_end] == "tool" and roles[turn_end + run : turn_end + run + 1] == ["tool"]:
                run += 1
            yield turn_end, turn_end + run


def _check(renderer: Renderer, conversation: Conversation, turn_end: int, state_end: int) -> None:
    messages = normalise_messages(renderer.family, conversation.messages)
    tools = normalise_tools(conversation.tools)
    kwargs = resolve_kwargs(renderer.family, conversation.kwargs)
    turn = renderer.text(messages[:turn_end], tools=tools, kwargs=kwargs, generation_prompt=False)
    state = renderer.text(messages[:state_end], tools=tools, kwargs=kwargs, generation_prompt=True)
    suffix = renderer.suffix(
        messages[turn_end:state_end],
        history=conversation.messages[:turn_end],
        tools=tools,
        kwargs=kwargs,
    )
    canonical = list(renderer.ids(state))
    left = list(renderer.ids(_as_left(renderer.family, turn)))
    assert _joined(renderer, left, suffix.ids) == canonical
    _check_other_ends(renderer, left, list(suffix.ids), canonical)


def _as_left(family: Family, turn: str) -> str:
    """A turn up to its stop token, where an engine stops."""
    return turn.removesuffix(family.boundary.text) if isinstance(family.boundary, Glue) else turn


def _check_other_ends(renderer: Renderer, left: list[int], suffix: list[int], canonical: list[int]) -> None:
    """After another stop token, or none, nothing is inserted and nothing dropped."""
    stops = renderer.family.stop_tokens
    if left[-1] != renderer.tokenizer.token_id(stops[0]):
        return  # a turn that printed nothing
    for stop in stops[1:]:
        ended = [*left[:-1], renderer.tokenizer.token_id(stop)]
        assert _joined(renderer, ended, suffix) == [*ended, *suffix]
    truncated = left[:-1]
    assert _joined(renderer, truncated, suffix) == [*truncated, *suffix]
    assert canonical[len(canonical) - len(suffix) :] == suffix


def _joined(renderer: Renderer, stored: Sequence[int], suffix: Sequence[int]) -> list[int]:
    joint = renderer.boundary.joint(stored[-1])
    return [*stored[: len(stored) - joint.trim], *joint.glue, *suffix]
