"""A large request body, read piece by piece.

msgspec reads 100 MB in a tenth of a second, and lets no other thread run meanwhile: a server would answer
nobody.  Here the long list of a body, its messages, is parted into runs of some messages by looking for
brackets alone, a window at a time; between two steps the interpreter may switch threads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from titocli.families.client_json import read_json
from titocli.jsonvalue import JsonObject, JsonValue

#: Bytes that are looked at, or read, at once: a few milliseconds.  One message is never parted.
PIECE_BYTES = 1024 * 1024

#: What stands between two brackets, without long strings, and what stands between the quotes of a string.
_BETWEEN = re.compile(rb'(?:[^"\[\]{}]++|"[^"\\]{0,100}+")*+')
_QUOTED = re.compile(rb"(?:[^\"\\]++|\\.)*+", re.DOTALL)
_MESSAGES_KEY = re.compile(rb'[{,]\s*"messages"\s*:\s*\Z')
_KEY_REACH_BYTES = 100
_BACKSLASH = ord("\\")
#: Open brackets inside a list that is a field of the object; between its items.
_IN_FIELD = 2
#: More than any reader of JSON takes.
_TOO_DEEP = 10_000
_COMMA = re.compile(rb"\s*,")
_BLANK = re.compile(rb"\s*\Z")


class _NotPartedError(Exception):
    """The body is not what can be read in pieces: no object with a long list of messages, or no JSON."""


def read_large_json(data: bytes | bytearray) -> JsonValue:
    """The value of ``read_json(data)``, and its errors; three to eight times its work.

    Only the messages of an object are read in pieces.  The object itself does not remember spelled numbers,
    what is in it does.
    """
    try:
        start, runs, end = _parted(data)
        frame = _frame(b"".join((memoryview(data)[:start], b"null", memoryview(data)[end:])))
        messages = list(chain.from_iterable(map(_read_run, runs)))
    except (_NotPartedError, ValueError):
        return read_json(data)  # for its errors, which name the place in the whole
    return {**frame, "messages": messages}


def _frame(text: bytes) -> JsonObject:
    """The object with the list ``[null]`` for its messages."""
    frame = read_json(text)
    if not isinstance(frame, dict) or frame.get("messages") != [None]:
        raise _NotPartedError  # another field of the name follows, and the last counts
    return frame


def _read_run(run: memoryview) -> list[JsonValue]:
    if _BLANK.match(run):
        raise _NotPartedError  # between two commas, or after the last
    value = read_json(b"".join((b"[", run, b"]")))
    assert isinstance(value, list)  # noqa: S101 - it is written with brackets
    return value


def _parted(data: bytes | bytearray) -> tuple[int, list[memoryview], int]:
    """Where the messages start, the runs of them without the commas between, and where they end."""
    brackets = _brackets(data)
    start = _start_of_messages(data, brackets)
    runs, at = list[memoryview](), start
    for place, depth in brackets:
        if depth == 1:
            runs.append(memoryview(data)[at:place])
            return start, runs, place
        if depth == _IN_FIELD and place - at >= PIECE_BYTES and (comma := _COMMA.match(data, place + 1)):
            runs.append(memoryview(data)[at : place + 1])
            at = comma.end()
    raise _NotPartedError


def _start_of_messages(data: bytes | bytearray, brackets: Iterator[tuple[int, int]]) -> int:
    for place, depth in brackets:
        before = data[max(0, place - _KEY_REACH_BYTES) : place]
        if depth == _IN_FIELD and data[place] == ord("[") and _MESSAGES_KEY.search(before):
            return place + 1
    raise _NotPartedError


def _brackets(data: bytes | bytearray) -> Iterator[tuple[int, int]]:
    """The place of each bracket outside strings, and how many are open after it."""
    at = depth = 0
    while at < len(data):
        at = _end_of(_BETWEEN, data, at)
        if data[at : at + 1] == b'"':
            at = _end_of_string(data, at)
        elif data[at : at + 1] in (b"{", b"[", b"}", b"]"):
            depth += 1 if data[at : at + 1] in (b"{", b"[") else -1
            if depth > _TOO_DEEP:
                raise _NotPartedError  # read at once it is refused at once
            yield at, depth
            at += 1


def _end_of_string(data: bytes | bytearray, at: int) -> int:
    """The place after a string; the quick search finds a quote that may be escaped."""
    quote = data.find(b'"', at + 1)
    if quote != -1 and data[quote - 1] != _BACKSLASH:
        return quote + 1
    at += 1
    while (end := _end_of(_QUOTED, data, at)) > at:
        at = end
    if data[at : at + 1] != b'"':
        raise _NotPartedError  # it has no end
    return at + 1


def _end_of(pattern: re.Pattern[bytes], data: bytes | bytearray, at: int) -> int:
    found = pattern.match(data, at, at + PIECE_BYTES)
    assert found is not None  # noqa: S101 - both patterns match nothing too
    return found.end()


__all__ = ["PIECE_BYTES", "read_large_json"]
