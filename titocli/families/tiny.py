"""The tokenizer of a family's tiny model: bytes and the family's control tokens, made without a download."""

from __future__ import annotations

from titocli.families.family import Family
from titocli.tokens.byte_level import byte_level_tokenizer
from titocli.tokens.tokenizer import Tokenizer


def tiny_tokenizer(family: Family) -> Tokenizer:
    """A byte-level tokenizer with the family's required tokens; those like ``<|im_end|>`` are special."""
    tokens = family.required_tokens
    return byte_level_tokenizer(tokens, special={token for token in tokens if token.startswith("<|")})


__all__ = ["tiny_tokenizer"]
