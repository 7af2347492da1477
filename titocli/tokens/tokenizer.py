"""One tokenizer, through the ``tokenizers`` library alone.

``tokenizers`` objects are not thread-safe, so each thread that encodes gets its own copy, made from the
same serialised form on first use.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property

import tokenizers

from titocli.tokens.bytes import bytes_of_token


class Tokenizer:
    """Encodes text to ids and back; never adds special tokens on its own.

    ``source`` says where it came from, for messages.  ``vocab_size`` counts added tokens: every id that
    the tokenizer can produce is below it.
    """

    def __init__(self, definition: str, *, source: str) -> None:
        self.source = source
        self._definition = definition
        self._per_thread = threading.local()
        self._added = dict(self._own.get_added_tokens_decoder())

    @property
    def _own(self) -> tokenizers.Tokenizer:
        own: tokenizers.Tokenizer | None = getattr(self._per_thread, "tokenizer", None)
        if own is None:
            own = tokenizers.Tokenizer.from_str(self._definition)
            self._per_thread.tokenizer = own
        return own

    @property
    def definition(self) -> str:
        """The content of the ``tokenizer.json`` that this tokenizer was made from."""
        return self._definition

    @cached_property
    def vocab_size(self) -> int:
        """One more than the largest id, added tokens included."""
        return 1 + max(self._own.get_vocab(with_added_tokens=True).values())

    @cached_property
    def special_ids(self) -> frozenset[int]:
        """Ids of the added tokens that are flagged special (Qwen: not ``<think>``, not ``<tool_call>``)."""
        return frozenset(i for i, token in self._added.items() if token.special)

    def encode(self, text: str) -> list[int]:
        """The ids of ``text``; text that spells an added token becomes that token."""
        ids: list[int] = self._own.encode(text, add_special_tokens=False).ids
        return ids

    def encode_with_offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """The ids of ``text``, and for each the characters of ``text`` that it covers as (start, end).

        Ids that share a character (a character of several bytes, cut) share its place.
        """
        encoding = self._own.encode(text, add_special_tokens=False)
        return encoding.ids, encoding.offsets

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ``ids`` with special tokens kept; broken UTF-8 becomes U+FFFD."""
        return b"".join(map(self.token_bytes, ids)).decode("utf-8", errors="replace")

    def token_id(self, token: str) -> int | None:
        """The id of one token by its spelling, or None."""
        found: int | None = self._own.token_to_id(token)
        return found

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes that one id stands for; empty for an id without a token."""
        known = self._bytes_by_id.get(token_id)
        if known is not None:
            return known
        self._bytes_by_id[token_id] = found = self._spell(token_id)
        return found

    @cached_property
    def _bytes_by_id(self) -> dict[int, bytes]:
        return {}

    def last_added_token(self, text: str) -> int:
        """The offset of the last added token in ``text``, where its encoding starts afresh; 0 without one."""
        return max(0, max((text.rfind(token) for token in self._added_texts), default=0))

    @cached_property
    def _added_texts(self) -> tuple[str, ...]:
        return tuple(token.content for token in self._added.values())

    def _spell(self, token_id: int) -> bytes:
        added = self._added.get(token_id)
        if added is not None:
            content: str = added.content
            return content.encode()
        token: str | None = self._own.id_to_token(token_id)
        return b"" if token is None else bytes_of_token(token)


__all__ = ["Tokenizer"]
