"""Reads a growing completion of flat blocks.

Behind text outside of any block, and behind a call that cannot be read, everything is held back to the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from titocli.families.parsers.inkling_blocks import (
    END,
    BlockKind,
    block_at,
    call_of,
    header_at,
    opens_block,
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
)
from titocli.families.parsers.tool_calls import Offered

_TEXT_KINDS: Mapping[BlockKind, TextKind] = MappingProxyType(
    {BlockKind.THINKING: TextKind.REASONING, BlockKind.TEXT: TextKind.CONTENT}
)


class InklingStream:
    """A ``StreamReader`` for Inkling's blocks."""

    def __init__(self, generation_prompt: str, offered: Offered) -> None:
        self._opened = opens_block(generation_prompt)
        self._offered = offered
        self._block_start = 0
        self._kind: BlockKind | None = None
        # All bytes before it are given or no text, and no end mark begins before it.
        self._given = 0
        self._patience = Patience()

    def advance(self, data: Bytes, snapshot: Snapshot) -> Iterator[Part]:
        """The parts that are certain now and were not before."""
        before = -1
        while before < self._block_start:
            before = self._block_start
            if self._kind is None:
                self._enter(data)
            if self._kind is BlockKind.CALL:
                yield from self._call(data, snapshot)
            elif self._kind is not None:
                yield from self._text(_TEXT_KINDS[self._kind], data)

    def _enter(self, data: Bytes) -> None:
        header = header_at(data, self._block_start, opened=self._opened)
        if header is not None:
            self._kind, self._given = header
            self._patience.restart(self._given)

    def _leave(self, end: int) -> None:
        self._block_start, self._kind, self._opened = end, None, False

    def _text(self, kind: TextKind, data: Bytes) -> Iterator[Part]:
        close = data.find(END, self._given)
        end = close if close >= 0 else len(data) - overlap(data, END)
        if close >= 0 or end > self._given:
            yield TextPart(kind, self._given, end, ends=close >= 0)
        self._given = end
        if close >= 0:
            self._leave(close + len(END))

    def _call(self, data: Bytes, snapshot: Snapshot) -> Iterator[Part]:
        if not self._patience.is_over(data, self._given, END):
            return
        completion = snapshot()
        block = block_at(completion.data, self._block_start, opened=self._opened)
        call = call_of(completion, block, self._offered)
        if call.status.called:
            yield CallPart(call, completion)
            self._leave(call.end)


__all__ = ["InklingStream"]
