"""The bytes of a completion, and which ids they come from.

Grammars are read in bytes: all their tags are ASCII, which UTF-8 never uses inside another character, so a
tag is found however it is cut into ids and whatever broken UTF-8 stands around it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from titocli.families.family import Family
from titocli.tokens.tokenizer import Tokenizer


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
    stops = {tokenizer.token_id(token) for token in family.stop_tokens}
    end = len(ids)
    while end and ids[end - 1] in stops:
        end -= 1
    # Ids below 0 have no token, and `tokenizers` takes unsigned ids only.
    spelled = [tokenizer.token_bytes(i) if i >= 0 else b"" for i in ids[:end]]
    data = b"".join(spelled)
    edges = tuple(accumulate(map(len, spelled), initial=0))
    return CompletionBytes(data=data, view=data.decode("latin-1"), edges=edges)


__all__ = ["CompletionBytes", "completion_bytes"]
