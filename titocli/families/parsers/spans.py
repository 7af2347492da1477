"""The bytes of a completion, and which ids they come from.

Grammars are read in bytes: no tag can begin or end inside a character of UTF-8, so a tag is found however it
is cut into ids and whatever broken UTF-8 stands around it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

from titocli.families.family import Family
from titocli.tokens.tokenizer import Tokenizer

#: Bytes that are whole, or still grow.
Bytes: TypeAlias = bytes | bytearray


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionBytes:
    """The bytes of a completion without its trailing stop tokens.

    ``view`` has one character a byte (Latin-1), for readers of text whose offsets must be those of ``data``.
    ``edges`` has the offset of each id, and the length of ``data`` at the end.
    """

    data: bytes
    view: str
    edges: tuple[int, ...]

    def text(self, start: int, end: int) -> str:
        """The text of the bytes ``[start, end)``; broken UTF-8 becomes U+FFFD."""
        return self.data[start:end].decode("utf-8", errors="replace")

    def ids_of(self, start: int, end: int) -> tuple[int, int]:
        """The half-open range of the fewest ids whose bytes cover ``[start, end)``."""
        first = bisect_right(self.edges, start, lo=1) - 1
        last = bisect_left(self.edges, end)
        # Ids without bytes stand at an edge of their own; an empty range is before them.
        return min(first, last), last


def completion_bytes(family: Family, tokenizer: Tokenizer, ids: Sequence[int]) -> CompletionBytes:
    """The bytes of a completion; the family's stop tokens at its end are no text."""
    end = spoken_count(ids, stop_ids(family, tokenizer))
    spelled = [spelling(tokenizer, token_id) for token_id in ids[:end]]
    edges = accumulate(map(len, spelled), initial=0)
    return from_bytes(b"".join(spelled), edges)


def from_bytes(data: Bytes, edges: Iterable[int]) -> CompletionBytes:
    """A completion of these bytes, with the offset of each id and the length at the end."""
    whole = bytes(data)
    return CompletionBytes(data=whole, view=whole.decode("latin-1"), edges=tuple(edges))


def stop_ids(family: Family, tokenizer: Tokenizer) -> frozenset[int | None]:
    """The ids of the family's stop tokens."""
    return frozenset(tokenizer.token_id(token) for token in family.stop_tokens)


def spoken_count(ids: Sequence[int], stops: Container[int | None]) -> int:
    """How many ids there are before the stop tokens at the end."""
    end = len(ids)
    while end and ids[end - 1] in stops:
        end -= 1
    return end


def spelling(tokenizer: Tokenizer, token_id: int) -> bytes:
    """The bytes of any id; ids below 0 have none, and ``tokenizers`` takes unsigned ids only."""
    return tokenizer.token_bytes(token_id) if token_id >= 0 else b""


__all__ = [
    "Bytes",
    "CompletionBytes",
    "completion_bytes",
    "from_bytes",
    "spelling",
    "spoken_count",
    "stop_ids",
]
