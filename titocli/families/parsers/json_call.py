"""A tool call as one JSON object with two members: the name and the arguments.

The arguments are the model's own spelling, byte for byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from titocli.families.parsers.spans import CompletionBytes
from titocli.families.parsers.strict_json import parse_strict

_START = re.compile(r"[ \t\r\n]*\{[ \t\r\n]*")
_COLON = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")
_COMMA = re.compile(r"[ \t\r\n]*,[ \t\r\n]*")
_END = re.compile(r"[ \t\r\n]*\}[ \t\r\n]*")
_JSON = json.JSONDecoder()


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonCall:
    """``end`` is the offset after the object and its whitespace, None where it is no JSON object."""

    end: int | None
    name: str | None
    arguments: str | None


@dataclass(frozen=True, slots=True)
class _Member:
    """A key and the byte range of its value."""

    key: str
    start: int
    end: int


def read_json_call(completion: CompletionBytes, at: int, *, name: str, arguments: str) -> JsonCall:
    """Reads the object at ``at`` with the two keys ``name`` and ``arguments``, in any order."""
    members = list(_members(completion.view, at))
    values = {member.key: completion.text(member.start, member.end) for member in members}
    end = _END.match(completion.view, members[-1].end) if members else None
    whole = len(members) == len(values) and values.keys() == {name, arguments}
    return JsonCall(
        end=end and end.end(),
        name=_name(values, name),
        arguments=object_source(values[arguments]) if whole else None,
    )


def json_end(view: str, at: int) -> int | None:
    """The offset after the JSON value at ``at``; None where there is none."""
    try:
        _, end = _JSON.raw_decode(view, at)
    except (ValueError, RecursionError):
        return None
    return end


def object_source(source: str) -> str | None:
    """The text itself where it is a JSON object that may be an argument list, else None."""
    try:
        is_object = isinstance(parse_strict(source), dict)
    except ValueError:
        return None
    return source if is_object else None


def _members(view: str, at: int) -> Iterator[_Member]:
    """The members of the object at ``at``, up to its end or to what is no JSON."""
    separator = _START.match(view, at)
    while separator:
        member = _member(view, separator.end())
        if member is None:
            return
        yield member
        separator = _COMMA.match(view, member.end)


def _member(view: str, at: int) -> _Member | None:
    try:
        key, key_end = _JSON.raw_decode(view, at)
    except (ValueError, RecursionError):
        return None
    colon = _COLON.match(view, key_end)
    if not isinstance(key, str) or colon is None:
        return None
    end = json_end(view, colon.end())
    return None if end is None else _Member(key, colon.end(), end)


def _name(values: Mapping[str, str], key: str) -> str | None:
    try:
        name = parse_strict(values.get(key, ""))
        # A lone surrogate is legal JSON, but has no UTF-8: encoding raises.  An empty name is none.
        return name if isinstance(name, str) and name.encode() else None
    except ValueError:
        return None


__all__ = ["JsonCall", "json_end", "object_source", "read_json_call"]
