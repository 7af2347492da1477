"""Reasoning in think tags: where it stands in a completion.

The block is open from the start when the generation prompt opened it; otherwise the completion must begin
with its tag.  The first ``</think>`` closes; without one, all is reasoning (as in SGLang 0.5.23's ``qwen3``
parser).  Families differ in the newlines that their templates write around reasoning: these are no text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from titocli.families.family import ReasoningGrammar
from titocli.families.parsers.parsed import ReasoningStatus
from titocli.families.parsers.spans import Bytes

OPEN, CLOSE = b"<think>", b"</think>"
_OPENING = re.compile(rb"\s*(<think>)")
_NEWLINES = re.compile(rb"\n*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkLayout:
    """The newlines that a template writes: after the opening tag, before the closing tag, after it.

    ``strips``: the template strips all newlines around reasoning.
    """

    head: bytes = b""
    tail: bytes = b""
    after: int = 0
    strips: bool = False


THINK_LAYOUTS: Mapping[ReasoningGrammar, ThinkLayout] = MappingProxyType(
    {
        ReasoningGrammar.THINK_TAGS: ThinkLayout(after=2, strips=True),
        ReasoningGrammar.THINK_TAGS_TIGHT: ThinkLayout(),
        ReasoningGrammar.THINK_TAGS_SPACED: ThinkLayout(head=b"\n", tail=b"\n", after=2),
        ReasoningGrammar.THINK_TAGS_LINES: ThinkLayout(head=b"\n", tail=b"\n", after=1),
        ReasoningGrammar.THINK_TAGS_HEADED: ThinkLayout(head=b"\n"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningSpan:
    """Byte ranges: the block ``[start, end)`` with its tags, the text in it, and where content starts."""

    status: ReasoningStatus
    start: int
    text_start: int
    text_end: int
    end: int
    content_start: int


ABSENT = ReasoningSpan(
    status=ReasoningStatus.ABSENT, start=0, text_start=0, text_end=0, end=0, content_start=0
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningOpening:
    """Where a block starts and its text; ``settled``: more text could not move them."""

    start: int
    text_start: int
    settled: bool


def find_reasoning(layout: ThinkLayout | None, data: bytes, generation_prompt: str) -> ReasoningSpan:
    """Where the reasoning of a completion stands; empty at offset 0 without any."""
    opening = find_opening(layout, data, generation_prompt) if layout else None
    if layout is None or opening is None:
        return ABSENT
    close = data.find(CLOSE, opening.text_start)
    if close >= 0:
        return closed_reasoning(layout, data, opening, close)
    end = len(data)
    text_start, text_end = (
        _stripped(data, opening.text_start, end) if layout.strips else (opening.text_start, end)
    )
    return ReasoningSpan(
        status=ReasoningStatus.UNCLOSED,
        start=opening.start,
        text_start=text_start,
        text_end=text_end,
        end=end,
        content_start=end,
    )


def find_opening(layout: ThinkLayout, data: Bytes, generation_prompt: str) -> ReasoningOpening | None:
    """Where the block opens; None where the completion does not begin with one."""
    if opened_by(generation_prompt):
        # The prompt may have written the newline after the tag already.
        head = b"" if generation_prompt.encode().endswith(OPEN + layout.head) else layout.head
        return _opening(data, 0, 0, head)
    found = _OPENING.match(data)
    return _opening(data, found.start(1), found.end(1), layout.head) if found else None


def opened_by(generation_prompt: str) -> bool:
    """Whether the generation prompt leaves a think block open."""
    return generation_prompt.rfind(OPEN.decode()) > generation_prompt.rfind(CLOSE.decode())


def may_still_open(data: Bytes) -> bool:
    """Whether more text could make ``data`` begin with a think tag."""
    return OPEN.startswith(data.lstrip(b" \t\n\r\f\v"))


def _opening(data: Bytes, start: int, at: int, head: bytes) -> ReasoningOpening:
    text_start = at + len(head) if data.startswith(head, at) else at
    return ReasoningOpening(start=start, text_start=text_start, settled=not head or len(data) > at)


def closed_reasoning(
    layout: ThinkLayout, data: Bytes, opening: ReasoningOpening, close: int
) -> ReasoningSpan:
    """The block whose closing tag stands at ``close``."""
    end = close + len(CLOSE)
    text_start, text_end = opening.text_start, close
    if layout.strips:
        text_start, text_end = _stripped(data, text_start, close)
    elif layout.tail and text_end > text_start and data.endswith(layout.tail, 0, close):
        text_end -= len(layout.tail)
    newlines = _NEWLINES.match(data, end, end + layout.after)
    return ReasoningSpan(
        status=ReasoningStatus.CLOSED,
        start=opening.start,
        text_start=text_start,
        text_end=text_end,
        end=end,
        content_start=newlines.end() if newlines else end,
    )


def _stripped(data: Bytes, start: int, end: int) -> tuple[int, int]:
    """The range without newlines at its ends."""
    text = data[start:end]
    lead = len(text) - len(text.lstrip(b"\n"))
    return start + lead, start + max(lead, len(text.rstrip(b"\n")))


__all__ = [
    "ABSENT",
    "CLOSE",
    "OPEN",
    "THINK_LAYOUTS",
    "ReasoningOpening",
    "ReasoningSpan",
    "ThinkLayout",
    "closed_reasoning",
    "find_opening",
    "find_reasoning",
    "may_still_open",
    "opened_by",
]
