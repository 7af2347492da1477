"""Reads a growing completion of think tags, content and calls between marks.

Text is held back while it may be part of a mark or of the newlines that a template writes.  Behind the first
call, and behind an attempt that cannot be read, all text is held back to the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto

from titocli.families.parsers.reasoning import (
    CLOSE,
    ReasoningOpening,
    ThinkLayout,
    closed_reasoning,
    find_opening,
    may_still_open,
)
from titocli.families.parsers.spans import Bytes
from titocli.families.parsers.stream_parts import (
    CallPart,
    Part,
    Patience,
    Snapshot,
    TextKind,
    TextPart,
    overlap,
    without_newlines,
)
from titocli.families.parsers.tool_calls import CallGrammar, Offered, Opening, read_block


class _Place(Enum):
    """Where in a completion the reader is."""

    START = auto()
    REASONING = auto()
    CONTENT = auto()
    CALL = auto()


class TaggedStream:
    """A ``StreamReader`` for a layout of reasoning and a grammar of calls; None where there are none."""

    def __init__(
        self,
        layout: ThinkLayout | None,
        grammar: CallGrammar | None,
        generation_prompt: str,
        offered: Offered,
    ) -> None:
        self._layout = layout or ThinkLayout()
        self._grammar = grammar
        self._prompt = generation_prompt
        self._offered = offered
        # All bytes before `_given` are given or no text; marks are looked for from `_searched` on.
        self._given = self._searched = 0
        self._reasoning = ReasoningOpening(start=0, text_start=0, settled=False)
        self._attempt = Opening(start=0, end=0, mark=b"")
        self._called = False
        self._patience = Patience()
        self._place = _Place.START if layout else _Place.CONTENT

    def advance(self, data: Bytes, snapshot: Snapshot) -> Iterator[Part]:
        """The parts that are certain now and were not before."""
        place = None
        while place is not self._place:
            place = self._place
            yield from self._read(place, data, snapshot)

    def _read(self, place: _Place, data: Bytes, snapshot: Snapshot) -> Iterator[Part]:
        if place is _Place.START:
            self._open(data)
        elif place is _Place.REASONING:
            yield from self._think(data)
        elif self._grammar is None:
            yield from self._text(TextKind.CONTENT, len(data))
        elif place is _Place.CONTENT:
            yield from self._speak(self._grammar, data)
        else:
            yield from self._call(self._grammar, data, snapshot)

    def _text(self, kind: TextKind, end: int) -> Iterator[Part]:
        if end > self._given:
            yield TextPart(kind, self._given, end)
            self._given = end

    def _open(self, data: Bytes) -> None:
        opening = find_opening(self._layout, data, self._prompt)
        if opening is not None and opening.settled:
            self._reasoning = opening
            self._given = self._searched = opening.text_start
            self._place = _Place.REASONING
        elif opening is None and not may_still_open(data):
            self._place = _Place.CONTENT

    def _think(self, data: Bytes) -> Iterator[Part]:
        close = data.find(CLOSE, self._searched)
        if close >= 0:
            yield from self._stop_thinking(data, close)
            return
        self._searched = len(data) - overlap(data, CLOSE)
        end = without_newlines(data, self._given, self._searched)
        if self._layout.strips and self._given == self._reasoning.text_start and end > self._given:
            self._given = end - len(data[self._given : end].lstrip(b"\n"))
        yield from self._text(TextKind.REASONING, end)

    def _stop_thinking(self, data: Bytes, close: int) -> Iterator[Part]:
        span = closed_reasoning(self._layout, data, self._reasoning, close)
        self._given, self._searched = max(self._given, span.text_start), close
        yield from self._text(TextKind.REASONING, span.text_end)
        if span.content_start < len(data) or span.content_start == span.end + self._layout.after:
            self._given = self._searched = span.content_start
            self._place = _Place.CONTENT

    def _speak(self, grammar: CallGrammar, data: Bytes) -> Iterator[Part]:
        opening = grammar.next_opening(data, self._searched)
        if opening is None:
            self._searched = len(data) - max(overlap(data, mark) for mark in grammar.marks)
        else:
            self._searched, self._attempt = opening.start, opening
            self._patience.restart(opening.end)
            self._place = _Place.CALL
        if not self._called:
            yield from self._text(TextKind.CONTENT, without_newlines(data, self._given, self._searched))

    def _call(self, grammar: CallGrammar, data: Bytes, snapshot: Snapshot) -> Iterator[Part]:
        if not self._patience.is_over(data, self._attempt.end, grammar.marks[self._attempt.mark]):
            return
        completion = snapshot()
        block = read_block(grammar, completion, self._attempt, self._offered)
        if not block.settled:
            return
        yield from (CallPart(call, completion) for call in block.calls if call.status.called)
        self._called = self._called or block.called
        self._searched = block.end
        self._place = _Place.CONTENT


__all__ = ["TaggedStream"]
