"""Tool calls as JSON (``hermes_json``): Qwen3 and Qwen3-Next.

``<tool_call>\\n{"name": "f", "arguments": {...}}\\n</tool_call>``; any JSON whitespace may stand between the
tags and the object.  The object has these two members and no other, in any order.  The arguments are the
model's own spelling, byte for byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from titocli.families.parsers.spans import CompletionBytes
from titocli.families.parsers.strict_json import parse_strict
from titocli.families.parsers.tool_calls import Offered, Reading

_START = re.compile(r"[ \t\r\n]*\{[ \t\r\n]*")
_COLON = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")
_COMMA = re.compile(r"[ \t\r\n]*,[ \t\r\n]*")
_END = re.compile(r"[ \t\r\n]*\}[ \t\r\n]*</tool_call>")
_JSON = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class _Member:
    """A key and the byte range of its value."""

    key: str
    start: int
    end: int


def read_hermes(completion: CompletionBytes, at: int, offered: Offered) -> Reading:  # noqa: ARG001
    """Reads the call whose opening tag ends at ``at``.  (A ``Reader``; this grammar needs no schemas.)"""
    members = list(_members(completion.view, at))
    values = {member.key: completion.text(member.start, member.end) for member in members}
    end = _END.match(completion.view, members[-1].end) if members else None
    return Reading(
        end=end and end.end(),
        name=_name(values.get("name")),
        arguments=_arguments(values) if len(members) == len(values) else None,
    )


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
        colon = _COLON.match(view, key_end)
        if not isinstance(key, str) or colon is None:
            return None
        _, end = _JSON.raw_decode(view, colon.end())
    except (ValueError, RecursionError):
        return None
    return _Member(key, colon.end(), end)


def _name(source: str | None) -> str | None:
    try:
        name = parse_strict(source or "")
        # A lone surrogate is legal JSON, but has no UTF-8: encoding raises.  An empty name is none.
        return name if isinstance(name, str) and name.encode() else None
    except ValueError:
        return None


def _arguments(values: dict[str, str]) -> str | None:
    if values.keys() != {"name", "arguments"}:
        return None
    try:
        is_object = isinstance(parse_strict(values["arguments"]), dict)
    except ValueError:
        return None
    return values["arguments"] if is_object else None


__all__ = ["read_hermes"]
