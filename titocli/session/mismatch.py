"""Whether a path's stored ids say what a canonical render of its messages says."""

from __future__ import annotations

from titocli.families.messages import normalise_messages
from titocli.families.renderer import Renderer
from titocli.session.session import Session
from titocli.session.tree import Turn
from titocli.tokens.comparator import Comparator, Mismatch
from titocli.tokens.ids import TokenIds


def path_mismatches(session: Session, leaf: int) -> tuple[Mismatch, ...]:
    """The mismatches of the path that ends in turn ``leaf``, rendered with the arguments of that turn.

    Of a truncated turn only what was generated is compared: its render ends with a stop token that the
    engine never wrote.
    """
    turn = session.tree[leaf]
    renderer = session.renderer
    expected = _canonical_ids(renderer, session, turn)
    if turn.truncated:
        expected = _without_terminator(renderer, expected)
    return family_comparator(renderer).compare(expected=expected, actual=session.tree.ids(leaf))


def _canonical_ids(renderer: Renderer, session: Session, turn: Turn) -> TokenIds:
    messages = normalise_messages(renderer.family, session.tree.messages(turn.id))
    marked = renderer.marked_text(
        messages,
        tools=turn.arguments.tools,
        kwargs=turn.arguments.template_kwargs,
        generation_prompt=False,
        control_tokens=session.control_tokens,
        generated={turn.message_count - 1 for turn in session.tree.path(turn.id)},
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


__all__ = ["family_comparator", "path_mismatches"]
