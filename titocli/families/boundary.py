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
    """A family's boundary rule: after which last id to insert what, which last ids to drop."""

    glue_after: int | None = None
    glue: TokenIds = field(default_factory=token_ids)
    trim_ids: frozenset[int] = frozenset()

    @property
    def max_trim(self) -> int:
        """How many stored ids the rule may drop at most."""
        return 1 if self.trim_ids else 0

    def joint(self, last_id: int | None) -> Joint:
        """The joint after stored ids that end with ``last_id`` (None: there are none)."""
        glued = last_id is not None and last_id == self.glue_after
        return Joint(
            trim=int(last_id in self.trim_ids),
            glue=self.glue if glued else token_ids(),
        )


def boundary_ids(family: Family, tokenizer: Tokenizer) -> BoundaryIds:
    """The family's boundary rule in the ids of ``tokenizer``."""
    rule = family.boundary
    if isinstance(rule, Glue):
        after = _required(tokenizer, rule.after)
        return BoundaryIds(glue_after=after, glue=token_ids(tokenizer.encode(rule.text)))
    if isinstance(rule, Trim):
        return BoundaryIds(trim_ids=frozenset(_required(tokenizer, token) for token in rule.tokens))
    return BoundaryIds()


def _required(tokenizer: Tokenizer, token: str) -> int:
    token_id = tokenizer.token_id(token)
    if token_id is None:
        raise UnfitTokenizer(
            f"tokenizer {tokenizer.source} lacks {token}", details={"missing_tokens": [token]}
        )
    return token_id


__all__ = ["BoundaryIds", "Joint", "boundary_ids"]
