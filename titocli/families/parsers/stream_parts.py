"""What a reader of a growing completion finds, and what both readers need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias

from titocli.families.parsers.spans import Bytes, CompletionBytes
from titocli.families.parsers.tool_calls import FoundCall


class TextKind(StrEnum):
    """What text is."""

    REASONING = "reasoning"
    CONTENT = "content"


@dataclass(frozen=True, slots=True)
class TextPart:
    """The bytes ``[start, end)`` are text; ``ends``: no more bytes follow in the same stretch of text."""

    kind: TextKind
    start: int
    end: int
    ends: bool = False


@dataclass(frozen=True, slots=True)
class CallPart:
    """A call that no further text can change, and the completion that it was read from."""

    call: FoundCall
    completion: CompletionBytes


Part: TypeAlias = TextPart | CallPart

#: Gives a copy of the completion so far, for the readers of calls.
Snapshot: TypeAlias = Callable[[], CompletionBytes]


class StreamReader(Protocol):
    """Reads a completion that grows: every part it gives is one of the whole completion as well."""

    def advance(self, data: Bytes, snapshot: Snapshot) -> Iterator[Part]:
        """The parts that are certain now and were not before."""
        ...


class Patience:
    """Says when a block that could not be read is worth another try.

    Tries happen at a new closing mark and, after the first one, at sizes that grow by a quarter each time: so
    the work grows with the length of the block, not with its square.
    """

    def __init__(self) -> None:
        self._searched_to = 0
        self._next_size = 0

    def restart(self, at: int) -> None:
        """Another block begins at ``at``."""
        self._searched_to, self._next_size = at, 0

    def is_over(self, data: Bytes, start: int, closing: bytes) -> bool:
        """Whether to try to read the block that begins at ``start``."""
        if data.find(closing, max(start, self._searched_to)) < 0:
            self._searched_to = max(start, len(data) - len(closing) + 1)
            return False
        if len(data) - start < self._next_size:
            return False
        self._searched_to = max(start, len(data) - len(closing) + 1)
        self._next_size = (len(data) - start) * 5 // 4
        return True


def overlap(data: Bytes, mark: bytes) -> int:
    """How many bytes at the end of ``data`` may be the beginning of ``mark``."""
    longest = min(len(data), len(mark) - 1)
    return next((size for size in range(longest, 0, -1) if data.endswith(mark[:size])), 0)


def without_newlines(data: Bytes, start: int, end: int) -> int:
    """The end of ``data[start:end]`` without the newlines at its end."""
    while end > start and data[end - 1] == ord("\n"):
        end -= 1
    return end


__all__ = [
    "CallPart",
    "Part",
    "Patience",
    "Snapshot",
    "StreamReader",
    "TextKind",
    "TextPart",
    "overlap",
    "without_newlines",
]
