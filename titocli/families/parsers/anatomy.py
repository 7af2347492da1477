"""Which bytes of a completion are reasoning, content and calls: what every grammar is read to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from titocli.families.parsers.parsed import ReasoningStatus
from titocli.families.parsers.tool_calls import FoundCall

#: A half-open range of bytes.
Range: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Anatomy:
    """A completion in byte ranges, in order.

    ``block`` is the think block, tags included; ``reasoning`` and ``content`` are the text without tags and
    separators; ``calls`` are all attempts, those that stay content included.
    """

    status: ReasoningStatus
    block: Range
    reasoning: tuple[Range, ...]
    content: tuple[Range, ...]
    calls: tuple[FoundCall, ...]


__all__ = ["Anatomy", "Range"]
