"""Strings of JSON text, looked at and read a window at a time.

What is done to a window holds every thread of the interpreter for a millisecond or two, whatever the length
of the string.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from titocli.families.client_json import read_json

Data: TypeAlias = bytes | bytearray

#: Bytes of a window.
WINDOW_BYTES = 1024 * 1024

_BACKSLASH = ord("\\")
#: What stands between two quotes.
_QUOTED = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
#: Characters and whole escapes; the two escapes of one character count as one.
_WHOLE = re.compile(
    rb"(?:[^\\]++|\\[^u]|\\u(?![dD][89abAB])[0-9a-fA-F]{4}"
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})*+",
    re.DOTALL,
)
#: Bytes of the longest escape: a character beyond U+FFFF.
_ESCAPE_BYTES = 12
#: In UTF-8 the bytes of a character after its first have these two highest bits.
_HIGH_BITS, _CONTINUATION = 0b1100_0000, 0b1000_0000


class NotPartedError(Exception):
    """Text that cannot be read in pieces; read at once it has a value, or an error with its place."""


def end_of(pattern: re.Pattern[bytes], data: Data, at: int, end: int | None = None) -> int:
    """Where ``pattern`` ends in the window from ``at``; it must match nothing too."""
    window = at + WINDOW_BYTES
    found = pattern.match(data, at, window if end is None else min(window, end))
    assert found is not None  # noqa: S101 - see above
    return found.end()


def end_of_string(data: Data, at: int) -> int:
    """The place after the string that opens at ``at``.  Raises ``NotPartedError`` where it has no end."""
    quote = data.find(b'"', at + 1)
    if quote != -1 and data[quote - 1] != _BACKSLASH:
        return quote + 1
    # It may be escaped, and so may others be.
    at += 1
    while (end := end_of(_QUOTED, data, at)) > at:
        at = end
    if data[at : at + 1] != b'"':
        raise NotPartedError
    return at + 1


def read_string(data: Data, at: int, end: int) -> str:
    """The text of the string ``data[at:end]``, its quotes included.  Raises as ``read_json`` does."""
    parts, at, end = list[str](), at + 1, end - 1
    while at < end:
        cut = _cut(data, at, end)
        parts.append(str(read_json(b"".join((b'"', data[at:cut], b'"')))))
        at = cut
    return "".join(parts)


def _cut(data: Data, at: int, end: int) -> int:
    """A place in the window from ``at`` that is not within a character or an escape."""
    cut = at + WINDOW_BYTES
    if cut >= end:
        return end
    if b"\\" in data[max(at, cut - _ESCAPE_BYTES) : cut]:
        cut = end_of(_WHOLE, data, at)
    while cut > at and data[cut] & _HIGH_BITS == _CONTINUATION:
        cut -= 1
    if cut == at:
        raise NotPartedError
    return cut


__all__ = ["WINDOW_BYTES", "Data", "NotPartedError", "end_of", "end_of_string", "read_string"]
