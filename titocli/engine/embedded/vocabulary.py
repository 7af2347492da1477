"""Which ids may be drawn next, as masks over the model's vocabulary (imports torch)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from titocli.tokens.tokenizer import Tokenizer

# A token that no grammar accepts by its bytes: it has none, or it is a control token.
_NO_BYTE = 256


class Vocabulary:
    """The tokenizer's tokens as rows of the model's ``size`` logits.

    A grammar reads tokens through their bytes, so ``<tool_call>`` is reachable as one token and spelled out;
    tokens flagged special and ``stop_ids`` are never text.
    """

    def __init__(self, tokenizer: Tokenizer, *, size: int, stop_ids: Sequence[int]) -> None:
        self.size = size
        self.stop_ids = frozenset(stop_ids)
        self._bytes = [tokenizer.token_bytes(token_id) for token_id in range(min(size, tokenizer.vocab_size))]
        control = self.stop_ids | tokenizer.special_ids
        first = [_NO_BYTE] * size
        for token_id, data in enumerate(self._bytes):
            if data and token_id not in control:
                first[token_id] = data[0]
        self._first_byte = torch.tensor(first)
        #: The token that ends a complete text: the first stop token, with which templates close a turn.
        self.end = self._mask(stop_ids[:1])
        #: Every id that has a token: what may be drawn without a grammar.
        self.tokens = self._mask(token_id for token_id, data in enumerate(self._bytes) if data)

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of one id; empty for an id of the model that the tokenizer does not have."""
        return self._bytes[token_id] if token_id < len(self._bytes) else b""

    def starting_with(self, first: frozenset[int]) -> torch.Tensor:
        """A mask (bool, ``size``) of the tokens whose first byte is in ``first``."""
        wanted = torch.zeros(_NO_BYTE + 1, dtype=torch.bool)
        wanted[list(first)] = True
        return wanted[self._first_byte]

    def _mask(self, ids: Iterable[int]) -> torch.Tensor:
        mask = torch.zeros(self.size, dtype=torch.bool)
        mask[[token_id for token_id in ids if token_id < self.size]] = True
        return mask


__all__ = ["Vocabulary"]
