"""Attempts at tool calls: what every grammar with marks around its calls shares.

Each opening mark outside of a block begins an attempt.  A grammar reads the block from there to its own end,
so that a closing mark inside an argument ends nothing.  What it cannot read ends at the next closing mark
(malformed) or, without one before the next attempt, at that attempt or the end (unclosed).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from titocli.families.parsers.parsed import AttemptStatus
from titocli.families.parsers.spans import Bytes, CompletionBytes
from titocli.jsonvalue import JsonObject, Tool

#: The JSON schema of the parameters by name of tool.
Offered: TypeAlias = Mapping[str, JsonObject]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """An opening mark: the bytes ``[start, end)``, and how it is spelled."""

    start: int
    end: int
    mark: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CallReading:
    """One call as a grammar read it: the bytes ``[start, end)``, its own marks included.

    ``arguments`` (JSON text) and ``name`` are None where they could not be read.  ``id`` is the model's own
    id of the call, where the grammar has one.
    """

    start: int
    end: int
    name: str | None = None
    arguments: str | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a grammar read from an opening mark on.

    ``end`` is the offset after the closing mark, None where the block does not go on as the grammar says;
    ``calls`` are then what could be read.  ``settled``: more text after it could not change the reading.
    """

    end: int | None = None
    calls: tuple[CallReading, ...] = ()
    settled: bool = True


#: Reads one block: the completion, the opening mark, the tools.
Reader: TypeAlias = Callable[[CompletionBytes, Opening, Offered], Reading]


class After(Enum):
    """After which content a template writes its separator before the first call."""

    ANYTHING = auto()
    TEXT = auto()
    VISIBLE_TEXT = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Spacing:
    """What a template writes around calls: before the first one, between two blocks, after the last one."""

    before: str = ""
    before_after: After = After.ANYTHING
    between: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallGrammar:
    """A grammar of tool calls: its reader, its opening marks with the closing mark of each, its spacing."""

    read: Reader
    marks: Mapping[bytes, bytes]
    spacing: Spacing

    def next_opening(self, data: Bytes, at: int) -> Opening | None:
        """The first opening mark at ``at`` or later."""
        # `re` keeps what it compiled.
        found = re.compile(b"|".join(map(re.escape, self.marks))).search(data, at)
        return found and Opening(start=found.start(), end=found.end(), mark=bytes(found[0]))


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCall:
    """An attempt: the bytes ``[start, end)``, marks included."""

    status: AttemptStatus
    start: int
    end: int
    name: str | None
    arguments: str | None
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundBlock:
    """The bytes ``[start, end)`` of a block of calls, and the attempts in it.

    ``settled``: more text after the completion could not change it.
    """

    start: int
    end: int
    calls: tuple[FoundCall, ...]
    settled: bool

    @property
    def called(self) -> bool:
        """Whether any attempt is returned as a call; otherwise the whole block stays content."""
        return any(call.status.called for call in self.calls)


def one_call(
    opening: Opening, end: int | None, *, name: str | None, arguments: str | None, settled: bool = True
) -> Reading:
    """The reading of a grammar whose block is one call."""
    call = CallReading(start=opening.start, end=end or opening.end, name=name, arguments=arguments)
    return Reading(end=end, calls=(call,), settled=settled)


def offered_tools(tools: Sequence[Tool]) -> Offered:
    """The parameter schemas of OpenAI's tools by name; a tool without one has an empty schema."""
    functions = [tool.get("function", tool) for tool in tools]
    named = [function for function in functions if isinstance(function, Mapping) and "name" in function]
    return {str(function["name"]): _schema(function) for function in named}


def _schema(function: JsonObject) -> JsonObject:
    schema = function.get("parameters")
    return schema if isinstance(schema, Mapping) else {}


def find_blocks(
    grammar: CallGrammar, completion: CompletionBytes, start: int, offered: Offered
) -> Iterator[FoundBlock]:
    """The blocks from offset ``start`` on, in order; they do not overlap."""
    opening = grammar.next_opening(completion.data, start)
    while opening:
        block = read_block(grammar, completion, opening, offered)
        yield block
        opening = grammar.next_opening(completion.data, block.end)


def read_block(
    grammar: CallGrammar, completion: CompletionBytes, opening: Opening, offered: Offered
) -> FoundBlock:
    """The block that begins with ``opening``."""
    reading = grammar.read(completion, opening, offered)
    if reading.end is None:
        return _unread_block(grammar, completion.data, opening, reading)
    return FoundBlock(
        start=opening.start,
        end=reading.end,
        calls=tuple(found_call(call, offered) for call in reading.calls),
        settled=reading.settled,
    )


def found_call(call: CallReading, offered: Offered) -> FoundCall:
    """The attempt that a reading is, by the tools that were offered."""
    return FoundCall(
        status=_status(call, offered),
        start=call.start,
        end=call.end,
        name=call.name,
        arguments=call.arguments,
        id=call.id,
    )


def _status(call: CallReading, offered: Offered) -> AttemptStatus:
    if call.name is None or call.arguments is None:
        return AttemptStatus.MALFORMED
    known = not offered or call.name in offered
    return AttemptStatus.OK if known else AttemptStatus.UNKNOWN_TOOL


def _unread_block(grammar: CallGrammar, data: bytes, opening: Opening, reading: Reading) -> FoundBlock:
    following = grammar.next_opening(data, opening.end)
    limit = following.start if following else len(data)
    closing = grammar.marks[opening.mark]
    close = data.find(closing, opening.end, limit)
    status = AttemptStatus.UNCLOSED if close < 0 else AttemptStatus.MALFORMED
    end = limit if close < 0 else close + len(closing)
    name = reading.calls[0].name if reading.calls else None
    call = FoundCall(status=status, start=opening.start, end=end, name=name, arguments=None)
    return FoundBlock(start=opening.start, end=end, calls=(call,), settled=False)


__all__ = [
    "After",
    "CallGrammar",
    "CallReading",
    "FoundBlock",
    "FoundCall",
    "Offered",
    "Opening",
    "Reader",
    "Reading",
    "Spacing",
    "find_blocks",
    "found_call",
    "offered_tools",
    "one_call",
    "read_block",
]
