"""Attempts at tool calls: what both grammars of Qwen share, the tags around a call.

Each ``<tool_call>`` outside of a call begins an attempt.  A grammar reads the call from there to its own end,
so that a closing tag inside an argument ends nothing.  What it cannot read ends at the next closing tag
(malformed) or, without one before the next attempt, at that attempt or the end (unclosed).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from titocli.families.parsers.parsed import AttemptStatus
from titocli.families.parsers.spans import CompletionBytes
from titocli.jsonvalue import JsonObject, Tool

OPEN, CLOSE = b"<tool_call>", b"</tool_call>"

#: The JSON schema of the parameters by name of tool.
Offered: TypeAlias = Mapping[str, JsonObject]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a grammar read after an opening tag.

    ``end`` is the offset after the closing tag, None where the call does not go on as the grammar says.
    ``arguments`` (JSON text) and ``name`` are None where they could not be read.
    """

    end: int | None = None
    name: str | None = None
    arguments: str | None = None


#: Reads one call: the completion, the offset after the opening tag, the tools.
Reader: TypeAlias = Callable[[CompletionBytes, int, Offered], Reading]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCall:
    """An attempt: the bytes ``[start, end)``, tags included."""

    status: AttemptStatus
    start: int
    end: int
    name: str | None
    arguments: str | None


def offered_tools(tools: Sequence[Tool]) -> Offered:
    """The parameter schemas of OpenAI's tools by name; a tool without one has an empty schema."""
    functions = [tool.get("function", tool) for tool in tools]
    named = [function for function in functions if isinstance(function, Mapping) and "name" in function]
    return {str(function["name"]): _schema(function) for function in named}


def _schema(function: JsonObject) -> JsonObject:
    schema = function.get("parameters")
    return schema if isinstance(schema, Mapping) else {}


def find_calls(
    read: Reader, completion: CompletionBytes, start: int, offered: Offered
) -> Iterator[FoundCall]:
    """The attempts from offset ``start`` on, in order; they do not overlap."""
    at = completion.data.find(OPEN, start)
    while at >= 0:
        found = _found(read(completion, at + len(OPEN), offered), completion.data, at, offered)
        yield found
        at = completion.data.find(OPEN, found.end)


def _found(reading: Reading, data: bytes, at: int, offered: Offered) -> FoundCall:
    status, end = _status(reading, offered), reading.end
    if end is None:
        status, end = _unread_end(data, at + len(OPEN))
    return FoundCall(status=status, start=at, end=end, name=reading.name, arguments=reading.arguments)


def _status(reading: Reading, offered: Offered) -> AttemptStatus:
    if reading.name is None or reading.arguments is None:
        return AttemptStatus.MALFORMED
    known = not offered or reading.name in offered
    return AttemptStatus.OK if known else AttemptStatus.UNKNOWN_TOOL


def _unread_end(data: bytes, body: int) -> tuple[AttemptStatus, int]:
    following = data.find(OPEN, body)
    limit = len(data) if following < 0 else following
    close = data.find(CLOSE, body, limit)
    if close < 0:
        return AttemptStatus.UNCLOSED, limit
    return AttemptStatus.MALFORMED, close + len(CLOSE)


__all__ = ["CLOSE", "OPEN", "FoundCall", "Offered", "Reader", "Reading", "find_calls", "offered_tools"]
