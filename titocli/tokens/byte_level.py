"""A tokenizer without a vocabulary file: one token a byte, and the control tokens of a family.

It encodes every text, so the embedded engine and the tests need no download.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

import tokenizers
from tokenizers import AddedToken, decoders, models, pre_tokenizers

from titocli.tokens.bytes import BYTE_ALPHABET
from titocli.tokens.tokenizer import Tokenizer


def byte_level_tokenizer(tokens: Sequence[str], *, special: Container[str] = ()) -> Tokenizer:
    """A tokenizer of 256 byte tokens (the id is the byte) and then ``tokens`` in order, from id 256.

    Tokens in ``special`` are flagged special.
    """
    own = tokenizers.Tokenizer(models.BPE({char: byte for byte, char in enumerate(BYTE_ALPHABET)}, []))
    own.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    own.decoder = decoders.ByteLevel()
    own.add_tokens([AddedToken(token, special=token in special, normalized=False) for token in tokens])
    return Tokenizer(own.to_str(), source="byte-level")


__all__ = ["byte_level_tokenizer"]
