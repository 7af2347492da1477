"""What happens between stored ids and appended ids, in a tokenizer's ids."""

from __future__ import annotations

from dataclasses import dataclass, field

from titocli.errors import UnfitTokenizer
from titocli.families.family import Family, Glue, Trim
from titocli.tokens.ids import TokenIds, token_ids
from titocli.tokens.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """How stored ids continue: drop ``trim`` of their last ids, then insert ``glue``."""

    trim: int
    glue: TokenIds


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryIds:
    """A family's boundary rule: after which last id to insert what, which last ids to drop.

    ``stop_ids`` end a turn.  A turn that ends with none of them was cut off (by a length limit, by a stop
    string): ``closing`` is what the template writes at the end of such a turn, so that the next message does
    not stand inside it.
    """

    glue_after: int | None = None
    glue: TokenIds = field(default_factory=token_ids)
    trim_ids: frozenset[int] = frozenset()
    stop_ids: frozenset[int] = frozenset()
    closing: TokenIds = field(default_factory=token_ids)

    @property
    def max_trim(self) -> int:
        """How many stored ids the rule may drop at most."""
        return 1 if self.trim_ids else 0

    def joint(self, last_id: int | None) -> Joint:
        """The joint after stored ids that end with ``last_id`` (None: there are none)."""
        if last_id in self.trim_ids:
            return Joint(trim=1, glue=token_ids())
        if last_id is not None and last_id == self.glue_after:
            return Joint(trim=0, glue=self.glue)
        over = last_id is None or last_id in self.stop_ids
        return Joint(trim=0, glue=token_ids() if over else self.closing)


def boundary_ids(family: Family, tokenizer: Tokenizer) -> BoundaryIds:
    """The family's boundary rule in the ids of ``tokenizer``."""
    rule = family.boundary
    stops = (tokenizer.token_id(token) for token in family.stop_tokens)
    stop_ids = frozenset(token_id for token_id in stops if token_id is not None)
    if isinstance(rule, Trim):
        trimmed = frozenset(_required(tokenizer, token) for token in rule.tokens)
        # A turn of these families has no end: the next message opens where it stops.
        return BoundaryIds(trim_ids=trimmed, stop_ids=stop_ids)
    if isinstance(rule, Glue):
        return BoundaryIds(
            glue_after=_required(tokenizer, rule.after),
            glue=token_ids(tokenizer.encode(rule.text)),
            stop_ids=stop_ids,
            closing=token_ids(tokenizer.encode(rule.after + rule.text)),
        )
    closing = family.stop_tokens[0] if family.stop_tokens else ""
    return BoundaryIds(stop_ids=stop_ids, closing=token_ids(tokenizer.encode(closing)))


def _required(tokenizer: Tokenizer, token: str) -> int:
    token_id = tokenizer.token_id(token)
    if token_id is None:
        raise UnfitTokenizer(
            f"tokenizer {tokenizer.source} lacks {token}", details={"missing_tokens": [token]}
        )
    return token_id


__all__ = ["BoundaryIds", "Joint", "boundary_ids"]
