"""boundary-tokens: what is left of a turn, boundary and suffix, against the ids of the whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from titocli.errors import ControlTokenInText, HistoryRewritten, UnfitTokenizer
from titocli.families.family import Family, Glue, Role, Trim
from titocli.families.renderer import Renderer, Suffix
from titocli.tokens.breaks import without_breaks
from titocli.verify.checks.finding import Check, Finding
from titocli.verify.contract import Contract, Ids
from titocli.verify.events import CheckId, FailureKind
from titocli.verify.states import Shown, States


def _why_not(contract: Contract) -> str | None:
    if contract.ids is Ids.NONE:
        return "needs a tokenizer (--tokenizer), for the contract names no control tokens"
    return None


def _find(states: States) -> Finding | None:
    encoding = states.contract.encoding
    if encoding is None:
        return None
    twice = _begun_twice(states)
    if twice is not None:
        return twice
    for turn_end in _looked_at(states):
        for state_end in list(states.states_after(turn_end))[:1]:
            found = _joined_wrongly(states, encoding, turn_end, state_end)
            if found is not None:
                return found
    return None


def _begun_twice(states: States) -> Finding | None:
    """The head of a prompt that is there once more, as when a template and a tokenizer both add it."""
    shown = Shown(len(states.roles))
    text = states.shown(shown)
    head, rest = "", text
    while token := next(filter(rest.startswith, states.contract.family.required_tokens), ""):
        head, rest = head + token, rest[len(token) :]
        if rest.startswith(head):
            return Finding(
                kind=FailureKind.TOKENS_DIFFER,
                sentence=f"the prompt begins with {head!r} twice",
                expected=head + rest[len(head) :],
                actual=text,
                at=len(head),
                actual_from=shown,
            )
    return None


def _looked_at(states: States) -> Sequence[int]:
    """Every turn, or the first and the last where the ids are made up and say nothing of a vocabulary."""
    ends = states.turn_ends
    return ends if states.contract.ids is Ids.REAL else sorted({*ends[:1], *ends[-1:]})


def _marked(states: States, encoding: Renderer, end: int, *, generation_prompt: bool) -> str:
    return encoding.marked_text(
        states.messages[:end], tools=states.tools, kwargs=states.kwargs, generation_prompt=generation_prompt
    )


def _joined_wrongly(states: States, encoding: Renderer, turn_end: int, state_end: int) -> Finding | None:
    try:
        before = _marked(states, encoding, turn_end, generation_prompt=False)
        whole = _marked(states, encoding, state_end, generation_prompt=True)
        suffix = states.suffix(encoding, turn_end, state_end)
    except (ControlTokenInText, HistoryRewritten):
        return None  # said by other checks, or refused by a session before any ids are made
    except UnfitTokenizer as error:
        return _finding(states, encoding, turn_end, state_end, [], [], error.message)
    if not whole.startswith(before) or _is_left_out(states, turn_end, before):
        return None
    if _is_misopened(states, turn_end, suffix):
        sentence = "the appended message is not opened by a token at which a model of this family stops"
        return _finding(states, encoding, turn_end, state_end, [], [], sentence)
    canonical = list(encoding.ids(whole))
    for stored in _as_left(encoding, before):
        joint = encoding.boundary.joint(stored[-1] if stored else None)
        joined = [*stored[: len(stored) - joint.trim], *joint.glue, *suffix.ids]
        if joined != canonical:
            sentence = "stored ids, boundary and suffix ids are not the ids of the whole conversation"
            return _finding(states, encoding, turn_end, state_end, canonical, joined, sentence)
    return None


def _is_misopened(states: States, turn_end: int, suffix: Suffix) -> bool:
    """Whether a question or a result is opened by no token that ends a turn, where turns lack other ends."""
    rule = states.contract.family.boundary
    if not isinstance(rule, Trim) or states.roles[turn_end] not in {Role.USER, Role.TOOL}:
        return False
    return not suffix.text.startswith(rule.tokens)


def _as_left(encoding: Renderer, before: str) -> Iterator[list[int]]:
    """The ids of a turn as an engine may leave them: up to its stop, with the opener after it, cut off."""
    rule = encoding.family.boundary
    if isinstance(rule, Trim):
        ids = list(encoding.ids(before))
        for token in rule.tokens:
            token_id = encoding.tokenizer.token_id(token)
            yield ids if token_id is None else [*ids, token_id]
        return
    yield list(encoding.ids(before.removesuffix(rule.text) if isinstance(rule, Glue) else before))
    yield from _cut_off(encoding, before)


def _cut_off(encoding: Renderer, before: str) -> Iterator[list[int]]:
    """The ids of a turn that a length limit ended: without the end that its text has in history."""
    end = _written_end(encoding.family)
    if not end or not before.endswith(end):
        return
    ids = list(encoding.ids(before.removesuffix(end)))
    if not ids or ids[-1] not in encoding.boundary.stop_ids:
        yield ids


def _written_end(family: Family) -> str:
    """What the template prints at the end of a turn, "" where a turn has no end of its own."""
    rule = family.boundary
    if isinstance(rule, Glue):
        return rule.after + rule.text
    return "" if isinstance(rule, Trim) else "".join(family.stop_tokens[:1])


def _is_left_out(states: States, end: int, before: str) -> bool:
    """Whether the turn says nothing and the template prints nothing of it: no engine stops there."""
    message = states.messages[end - 1]
    said = any(message.get(name) for name in ("content", "reasoning_content", "tool_calls"))
    return not said and not before.endswith(_written_end(states.contract.family))


def _finding(
    states: States,
    encoding: Renderer,
    turn_end: int,
    state_end: int,
    canonical: list[int],
    joined: list[int],
    sentence: str,
) -> Finding:
    tokenizer = encoding.tokenizer
    token = next(
        (n for n, pair in enumerate(zip(canonical, joined, strict=False)) if pair[0] != pair[1]), None
    )
    token = min(len(canonical), len(joined)) if token is None else token
    shown = Shown(state_end, generation_prompt=True)
    expected = without_breaks(states.shown(shown))
    return Finding(
        kind=FailureKind.TOKENS_DIFFER,
        sentence=sentence,
        expected=expected,
        actual=tokenizer.decode(joined),
        at=len(tokenizer.decode(canonical[:token])),
        expected_from=shown,
        turn_end=turn_end,
        state_end=state_end,
        token=token,
    )


BOUNDARY_TOKENS = Check(id=CheckId.BOUNDARY_TOKENS, find=_find, why_not=_why_not)

__all__ = ["BOUNDARY_TOKENS"]
