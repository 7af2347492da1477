"""Completions of flat blocks (``inkling_blocks``): Inkling.

``<|message_model|>``, a name or nothing, the mark of a kind, a payload, ``<|end_message|>``.  The kind
``<|content_thinking|>`` is reasoning, ``<|content_text|>`` content, ``<|content_invoke_tool_json|>`` a call:
``{"name": "f", "args": {...}}``, whose arguments are the model's own spelling.  The generation prompt may
have opened the first block.  What is no such block stays content as it is, marks included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from titocli.families.parsers.anatomy import Anatomy, Range
from titocli.families.parsers.json_call import read_json_call
from titocli.families.parsers.parsed import AttemptStatus, ReasoningStatus
from titocli.families.parsers.spans import Bytes, CompletionBytes
from titocli.families.parsers.tool_calls import CallReading, FoundCall, Offered, found_call

MESSAGE, END = b"<|message_model|>", b"<|end_message|>"
#: Names are bounded, so that looking for a header costs the same everywhere.
_KINDS = (
    rb"(?:(?P<kind><\|content_(?:thinking|text)\|>)|[^<|]{0,1024}(?P<call><\|content_invoke_tool_json\|>))"
)
_HEADER = re.compile(re.escape(MESSAGE) + _KINDS)
#: The header of a block that the generation prompt opened.
_OPENED_HEADER = re.compile(_KINDS)


class BlockKind(StrEnum):
    """What a block holds."""

    THINKING = "<|content_thinking|>"
    TEXT = "<|content_text|>"
    CALL = "<|content_invoke_tool_json|>"
    #: No block: text outside of any.
    STRAY = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The bytes ``[start, end)``, of which ``[payload_start, payload_end)`` is the payload.

    The end of a call that is ``closed`` is where its first end mark stands, be it in a string of its JSON.
    """

    kind: BlockKind
    start: int
    payload_start: int
    payload_end: int
    end: int
    closed: bool


def opens_block(generation_prompt: str) -> bool:
    """Whether the generation prompt opened the first block."""
    return generation_prompt.endswith(MESSAGE.decode())


def header_at(data: Bytes, at: int, *, opened: bool) -> tuple[BlockKind, int] | None:
    """The kind of the block at ``at`` and where its payload starts; None where no header stands.

    ``opened``: the header's first mark stands in the generation prompt.
    """
    header = (_OPENED_HEADER if opened else _HEADER).match(data, at)
    if header is None:
        return None
    return BlockKind((header["kind"] or header["call"]).decode()), header.end()


def block_at(data: Bytes, at: int, *, opened: bool) -> Block:
    """The block that begins at ``at``, or what stands there before the next one."""
    header = header_at(data, at, opened=opened)
    if header is None:
        end = _next_header(data, at)
        return Block(kind=BlockKind.STRAY, start=at, payload_start=at, payload_end=end, end=end, closed=True)
    kind, payload_start = header
    close = data.find(END, payload_start)
    payload_end = len(data) if close < 0 else close
    end = len(data) if close < 0 else close + len(END)
    return Block(
        kind=kind,
        start=at,
        payload_start=payload_start,
        payload_end=payload_end,
        end=end,
        closed=close >= 0,
    )


def _next_header(data: Bytes, at: int) -> int:
    """Where the next block starts, or the end of the completion."""
    following = _HEADER.search(data, at)
    return following.start() if following else len(data)


def call_of(completion: CompletionBytes, block: Block, offered: Offered) -> FoundCall:
    """The attempt that a call block is; what cannot be read ends at its end mark or the next block."""
    call = read_json_call(completion, block.payload_start, name="name", arguments="args")
    if call.end is not None and completion.data.startswith(END, call.end):
        reading = CallReading(
            start=block.start, end=call.end + len(END), name=call.name, arguments=call.arguments
        )
        return found_call(reading, offered)
    limit = _next_header(completion.data, block.payload_start)
    closed = block.closed and block.end <= limit
    return FoundCall(
        status=AttemptStatus.MALFORMED if closed else AttemptStatus.UNCLOSED,
        start=block.start,
        end=block.end if closed else limit,
        name=call.name,
        arguments=None,
    )


def read_inkling_blocks(completion: CompletionBytes, generation_prompt: str, offered: Offered) -> Anatomy:
    """The anatomy of a completion; its think block is the first one where there are several."""
    parts = list(_parts(completion, generation_prompt, offered))
    thinking = [block for block, _ in parts if block.kind is BlockKind.THINKING]
    return Anatomy(
        status=_status(thinking),
        block=(thinking[0].start, thinking[0].end) if thinking else (0, 0),
        reasoning=tuple((block.payload_start, block.payload_end) for block in thinking),
        content=tuple(content for block, call in parts for content in _content(block, call)),
        calls=tuple(call for _, call in parts if call is not None),
    )


def _parts(
    completion: CompletionBytes, generation_prompt: str, offered: Offered
) -> Iterator[tuple[Block, FoundCall | None]]:
    at, opened = 0, opens_block(generation_prompt)
    while at < len(completion.data):
        block = block_at(completion.data, at, opened=opened)
        call = call_of(completion, block, offered) if block.kind is BlockKind.CALL else None
        yield block, call
        at, opened = call.end if call else block.end, False


def _content(block: Block, call: FoundCall | None) -> Iterator[Range]:
    if call is not None:
        if not call.status.called:
            yield call.start, call.end
    elif block.kind is not BlockKind.THINKING:
        yield block.payload_start, block.payload_end


def _status(thinking: list[Block]) -> ReasoningStatus:
    if not thinking:
        return ReasoningStatus.ABSENT
    return ReasoningStatus.CLOSED if thinking[-1].closed else ReasoningStatus.UNCLOSED


__all__ = [
    "END",
    "Block",
    "BlockKind",
    "block_at",
    "call_of",
    "header_at",
    "opens_block",
    "read_inkling_blocks",
]
