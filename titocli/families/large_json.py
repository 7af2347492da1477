"""A large request body, read piece by piece.

msgspec reads 100 MB in a tenth of a second, and lets no other thread run meanwhile: a server would answer
nobody.  Here the long list of a body, its messages, is parted into runs of some messages by looking for
brackets alone, and long strings are read apart from what stands around them; between two steps the
interpreter may switch threads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from uuid import uuid4

from titocli.families import json_windows
from titocli.families.client_json import SpelledObject, read_json
from titocli.families.json_windows import Data, NotPartedError, end_of, end_of_string, read_string
from titocli.jsonvalue import JsonObject, JsonValue

#: What stands between two brackets, without long strings.
_BETWEEN = re.compile(rb'(?:[^"\[\]{}]++|"[^"\\]{0,100}+")*+')
_MESSAGES_KEY = re.compile(rb'[{,]\s*"messages"\s*:\s*\Z')
_KEY_REACH_BYTES = 100
#: Open brackets inside a list that is a field of the object; between its items.
_IN_FIELD = 2
#: More than any reader of JSON takes.
_TOO_DEEP = 10_000
_COMMA = re.compile(rb"\s*,")
_BLANK = re.compile(rb"\s*\Z")


def read_large_json(data: Data) -> JsonValue:
    """The value of ``read_json(data)``, and its errors; up to eight times its work.

    Only an object with a list of messages is read in pieces.  The object itself does not remember spelled
    numbers, what is in it does.
    """
    try:
        return _Reading(data).value()
    except (NotPartedError, ValueError, RecursionError):
        return read_json(data)  # no such object, or an error, which has its place in the whole


class _Reading:
    """One body while it is read; ``_texts`` has its long strings by what stands in their places."""

    def __init__(self, data: Data) -> None:
        self._data = data
        self._texts: dict[str, str] = {}
        self._name = uuid4().hex

    def value(self) -> JsonObject:
        runs = _runs_of_messages(self._data)
        start, end = runs[0][0], runs[-1][1]
        frame = self._frame(start, end)
        messages = list(chain.from_iterable(self._run(*run) for run in runs))
        return {**frame, "messages": messages}

    def _frame(self, start: int, end: int) -> JsonObject:
        """The object without its messages."""
        frame = self._read(*self._hollow(0, start), b"null", *self._hollow(end, len(self._data)))
        if not isinstance(frame, dict) or frame.get("messages") != [None]:
            raise NotPartedError  # another field of the name follows, and the last counts
        return frame

    def _run(self, start: int, end: int) -> list[JsonValue]:
        if _BLANK.match(self._data, start, end):
            raise NotPartedError  # between two commas, or after the last
        value = self._read(b"[", *self._hollow(start, end), b"]")
        assert isinstance(value, list)  # noqa: S101 - it is written with brackets
        return value

    def _read(self, *pieces: Data) -> JsonValue:
        value = read_json(b"".join(pieces))
        return _filled(value, self._texts) if self._texts else value

    def _hollow(self, start: int, end: int) -> Iterator[Data]:
        """``data[start:end]`` with names in place of its long strings."""
        at = start
        if end - start > 2 * json_windows.WINDOW_BYTES:
            for first, last in _long_strings(self._data, start, end):
                name = f"{self._name}-{len(self._texts)}"
                self._texts[name] = read_string(self._data, first, last)
                yield self._data[at:first]
                yield f'"{name}"'.encode()
                at = last
        yield self._data[at:end]


def _filled(value: JsonValue, texts: dict[str, str]) -> JsonValue:
    """``value`` with the texts that stand in the places of their names."""
    if isinstance(value, str):
        return texts.get(value, value)
    if isinstance(value, list):
        return [_filled(item, texts) for item in value]
    if not isinstance(value, dict):
        return value
    made = _filled_object(value, texts)
    if isinstance(value, SpelledObject):
        made = SpelledObject(made)
        made.spelled = _filled_object(value.spelled, texts)
    return made


def _filled_object(value: JsonObject, texts: dict[str, str]) -> JsonObject:
    return {texts.get(key, key): _filled(item, texts) for key, item in value.items()}


def _runs_of_messages(data: Data) -> list[tuple[int, int]]:
    """Where each run of messages starts and ends, without the commas between runs."""
    brackets = _brackets(data)
    at = _start_of_messages(data, brackets)
    runs = list[tuple[int, int]]()
    for place, depth in brackets:
        if depth == 1:
            return [*runs, (at, place)]
        long = place - at >= json_windows.WINDOW_BYTES
        if depth == _IN_FIELD and long and (comma := _COMMA.match(data, place + 1)):
            runs.append((at, place + 1))
            at = comma.end()
    raise NotPartedError


def _start_of_messages(data: Data, brackets: Iterator[tuple[int, int]]) -> int:
    for place, depth in brackets:
        before = data[max(0, place - _KEY_REACH_BYTES) : place]
        if depth == _IN_FIELD and data[place] == ord("[") and _MESSAGES_KEY.search(before):
            return place + 1
    raise NotPartedError


def _brackets(data: Data) -> Iterator[tuple[int, int]]:
    """The place of each bracket outside strings, and how many are open after it."""
    depth = 0
    for place, end in _marks(data, 0, len(data)):
        if end == place + 1:
            depth += 1 if data[place] in b"{[" else -1
            if depth > _TOO_DEEP:
                raise NotPartedError  # read at once it is refused at once
            yield place, depth


def _long_strings(data: Data, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where each string that is longer than a window starts and ends, its quotes included."""
    return (mark for mark in _marks(data, start, end) if mark[1] - mark[0] > json_windows.WINDOW_BYTES)


def _marks(data: Data, at: int, end: int) -> Iterator[tuple[int, int]]:
    """Where each bracket and each string that is no short one starts and ends; a bracket is one byte long."""
    while at < end:
        at = end_of(_BETWEEN, data, at, end)
        if at == end:
            return
        if data[at] == ord('"'):
            after = end_of_string(data, at)
            yield at, after
            at = after
        elif data[at] in b"{}[]":
            yield at, at + 1
            at += 1


__all__ = ["read_large_json"]
