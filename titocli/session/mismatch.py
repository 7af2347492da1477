"""Whether a path's stored ids say what a canonical render of its messages says."""

from __future__ import annotations

from titocli.errors import InvalidMessages, TitoError
from titocli.families.messages import normalise_messages
from titocli.families.renderer import Renderer
from titocli.jsonvalue import JsonObject
from titocli.session.session import Session
from titocli.session.tree import Turn
from titocli.tokens.comparator import Comparator, Mismatch, MismatchType
from titocli.tokens.ids import TokenIds


def path_mismatches(session: Session, leaf: int) -> tuple[Mismatch, ...]:
    """The mismatches of the path that ends in turn ``leaf``, rendered with the arguments of that turn.

    Of a last turn that was cut off (by a length limit, by a stop string) only what was generated is
    compared: its render ends with a stop token that the engine never wrote.  Where the cut went through a
    construct whose end is a special token too, only what stands before the turn is compared.  Raises what
    rendering raises.
    """
    turn = session.tree[leaf]
    try:
        found = _mismatches(session, turn)
        if _is_cut_off(session, turn) and _differ_in_structure(found):
            return _mismatches_before(session, turn)
    except RecursionError as error:
        raise InvalidMessages("a stored message is nested too deeply to be rendered") from error
    return found


def _is_cut_off(session: Session, turn: Turn) -> bool:
    ids = turn.completion.ids
    return turn.truncated or not ids or ids[-1] not in session.renderer.boundary.stop_ids


def _differ_in_structure(found: tuple[Mismatch, ...]) -> bool:
    return any(mismatch.type is MismatchType.SPECIAL_TOKEN_COUNT for mismatch in found)


def _mismatches(session: Session, turn: Turn) -> tuple[Mismatch, ...]:
    renderer = session.renderer
    expected = _canonical_ids(session, turn)
    if _is_cut_off(session, turn):
        expected = _without_terminator(renderer, expected)
    return family_comparator(renderer).compare(expected=expected, actual=session.tree.ids(turn.id))


def _mismatches_before(session: Session, turn: Turn) -> tuple[Mismatch, ...]:
    """The mismatches of a turn's prompt."""
    expected = _canonical_ids(session, turn, with_reply=False)
    return family_comparator(session.renderer).compare(
        expected=expected, actual=session.tree.prompt_ids(turn.id)
    )


def mismatch_entries(session: Session, leaf: int) -> list[JsonObject]:
    """The mismatches of a path as JSON; one entry of type ``error`` when they cannot be computed."""
    try:
        return [mismatch.as_json() for mismatch in path_mismatches(session, leaf)]
    except TitoError as error:
        return [{"type": "error", "code": error.code, "detail": error.message}]


def _canonical_ids(session: Session, turn: Turn, *, with_reply: bool = True) -> TokenIds:
    """The path's render: with the turn's reply at its end, or with the prompt for it."""
    renderer = session.renderer
    stored = session.tree.messages(turn.id)
    marked = renderer.marked_text(
        normalise_messages(renderer.family, stored if with_reply else stored[:-1]),
        tools=turn.arguments.tools,
        kwargs=turn.arguments.template_kwargs,
        generation_prompt=not with_reply,
        control_tokens=session.control_tokens,
        generated={each.message_count - 1 for each in session.tree.path(turn.id)},
    )
    return renderer.ids(marked)


def _without_terminator(renderer: Renderer, ids: TokenIds) -> TokenIds:
    tokenizer = renderer.tokenizer
    stops = {tokenizer.token_id(token) for token in renderer.family.stop_tokens}
    last_stop = next((at for at in range(len(ids) - 1, -1, -1) if ids[at] in stops), len(ids))
    return ids[:last_stop]


def family_comparator(renderer: Renderer) -> Comparator:
    """The comparator of a renderer's family and tokenizer."""
    tokenizer = renderer.tokenizer
    trailing = (tokenizer.token_id(token) for token in renderer.family.comparator_trailing)
    texts = (tokenizer.encode(token) for token in renderer.family.comparator_trailing)
    return Comparator(
        tokenizer=tokenizer,
        special_ids=_special_ids(renderer),
        trailing_ids=frozenset(t for t in trailing if t is not None)
        | frozenset(ids[0] for ids in texts if len(ids) == 1),
        assistant_start=renderer.family.assistant_start,
    )


def _special_ids(renderer: Renderer) -> frozenset[int]:
    tokenizer = renderer.tokenizer
    named = (tokenizer.token_id(token) for token in renderer.family.comparator_specials)
    return frozenset(t for t in named if t is not None) or tokenizer.special_ids


__all__ = ["family_comparator", "mismatch_entries", "path_mismatches"]
