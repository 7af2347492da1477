"""Whether a tokenizer is one of a family's."""

from __future__ import annotations

from titocli.errors import UnfitTokenizer
from titocli.families.family import Family
from titocli.tokens.tokenizer import Tokenizer


def refuse_unfit(family: Family, tokenizer: Tokenizer) -> None:
    """Raise ``UnfitTokenizer`` for a tokenizer without the family's tokens, naming them."""
    missing = [token for token in family.required_tokens if tokenizer.token_id(token) is None]
    if missing:
        raise UnfitTokenizer(
            f"tokenizer {tokenizer.source} does not belong to family {family.name!r}: "
            f"it lacks {', '.join(missing)}",
            hint="give the tokenizer of one of the family's checkpoints (titocli families show)",
            details={"missing_tokens": missing, "family": family.name},
        )


__all__ = ["refuse_unfit"]
