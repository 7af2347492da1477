"""One tokenizer, through the ``tokenizers`` library alone.

``tokenizers`` objects are not thread-safe, so each thread that encodes gets its own copy, made from the
same serialised form on first use.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Sequence
from functools import cached_property

import tokenizers

from titocli.errors import UnfitTokenizer
from titocli.tokens.breaks import split_at_breaks, without_breaks
from titocli.tokens.bytes import bytes_of_token

#: Added tokens of letters, digits and spaces alone are vocabulary, not control tokens.
_PLAIN_WORD = re.compile(r"[\w\s]*")
#: Characters whose encoding takes about a millisecond.
_LONG_TEXT_CHARS = 4096


class Tokenizer:
    """Encodes text to ids and back; never adds special tokens on its own.

    ``source`` says where it came from, for messages.  ``vocab_size`` counts added tokens: every id that
    the tokenizer can produce is below it.
    """

    def __init__(self, definition: str, *, source: str) -> None:
        self.source = source
        # A batch here is one text; the library's own threads would only warn about forks.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
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
        ids: list[int] = self._encoding(text).ids
        return ids

    def _encoding(self, text: str) -> tokenizers.Encoding:
        """The library lets other threads run while it encodes a batch, and not while it encodes one text."""
        if len(text) < _LONG_TEXT_CHARS:
            return self._own.encode(text, add_special_tokens=False)
        (encoding,) = self._own.encode_batch([text], add_special_tokens=False)
        return encoding

    def encode_with_offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """The ids of ``text``, and for each the characters of ``text`` that it covers as (start, end).

        Ids that share a character (a character of several bytes, cut) share its place.
        """
        encoding = self._encoding(text)
        return encoding.ids, encoding.offsets

    @cached_property
    def control_tokens(self) -> tuple[str, ...]:
        """Added tokens that stand for something other than their text: the special ones, and all signs."""
        return tuple(
            token.content
            for token in self._added.values()
            if len(token.content) > 1 and (token.special or not _PLAIN_WORD.fullmatch(token.content))
        )

    @cached_property
    def special_tokens(self) -> frozenset[str]:
        """The added tokens that are flagged special, by their text."""
        return frozenset(token.content for token in self._added.values() if token.special)

    def encode_with_breaks(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """As ``encode_with_offsets`` of the text without its breaks, but no added token spans a break.

        Around a break, up to the next added tokens, the text is encoded as if there were no added tokens.
        Raises ``UnfitTokenizer`` where the vocabulary itself makes a control token of such text.
        """
        ids: list[int] = []
        offsets: list[tuple[int, int]] = []
        at = 0
        for piece in split_at_breaks(text, self._added_pattern):
            plain = without_breaks(piece)
            broken = len(plain) < len(piece)
            new, places = self._encode_plainly(plain) if broken else self.encode_with_offsets(plain)
            ids += new
            offsets += [(start + at, end + at) for start, end in places]
            at += len(plain)
        return ids, offsets

    @cached_property
    def _added_pattern(self) -> re.Pattern[str]:
        """Matches what the library takes for an added token: the longest of those that start first."""
        longest_first = sorted(self._added.values(), key=lambda token: -len(token.content))
        return re.compile("|".join(map(_pattern_of, longest_first)) or "(?!)")

    def _encode_plainly(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        own = self._own
        pieces = tokenizers.PreTokenizedString(text)
        if own.normalizer is not None:
            pieces.normalize(own.normalizer.normalize)
        if own.pre_tokenizer is not None:
            own.pre_tokenizer.pre_tokenize(pieces)
        pieces.tokenize(own.model.tokenize)
        encoding = own.post_process(pieces.to_encoding(), add_special_tokens=False)
        if not self._control_ids.isdisjoint(encoding.ids):
            raise UnfitTokenizer(
                f"tokenizer {self.source}: a control token in text cannot be encoded as text, for the "
                "vocabulary makes that token of the text itself",
                hint="--control-tokens keep or reject",
            )
        return encoding.ids, encoding.offsets

    @cached_property
    def _control_ids(self) -> frozenset[int]:
        control = set(self.control_tokens)
        return frozenset(i for i, token in self._added.items() if token.content in control)

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


def _pattern_of(token: tokenizers.AddedToken) -> str:
    pattern = re.escape(token.content)
    if token.single_word:
        pattern = rf"(?<!\w){pattern}(?!\w)"
    return (r"\s*" if token.lstrip else "") + pattern + (r"\s*" if token.rstrip else "")


__all__ = ["Tokenizer"]
