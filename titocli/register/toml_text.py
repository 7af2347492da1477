"""Writes TOML.  The standard library only reads it.

JSON values that TOML has no word for (null, numbers beyond 64 bits, text that has no UTF-8) are written as
``{ json = "..." }``, and so is a table that looks like that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from titocli.jsonvalue import JsonObject, JsonValue

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_JSON = "json"
_LARGEST = 2**63


def toml_document(tables: Mapping[str, JsonValue], comments: Sequence[str] = ()) -> str:
    """A document: ``comments`` first, then plain values, then a section for each table."""
    lines = [f"# {line}".rstrip() for comment in comments for line in (comment.splitlines() or [""])]
    plain = {name: value for name, value in tables.items() if not _is_section(value)}
    lines += [f"{_key(name)} = {toml_value(value)}" for name, value in plain.items()]
    for name, value in tables.items():
        if _is_section(value):
            lines += _section(name, value)
    return "\n".join(lines) + "\n"


def _is_section(value: JsonValue) -> bool:
    return isinstance(value, Mapping) or _is_list_of_tables(value)


def _is_list_of_tables(value: JsonValue) -> bool:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return False
    return bool(value) and all(isinstance(item, Mapping) for item in value)


def _section(name: str, value: JsonValue) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield ""
        yield f"[{_key(name)}]"
        yield from _members(value)
    elif isinstance(value, Sequence):
        for item in value:
            yield ""
            yield f"[[{_key(name)}]]"
            yield from _members(item) if isinstance(item, Mapping) else ()


def _members(table: JsonObject) -> Iterator[str]:
    return (f"{_key(name)} = {toml_value(value)}" for name, value in table.items())


def toml_value(value: JsonValue) -> str:
    """One value in one line."""
    if isinstance(value, Mapping):
        return _inline(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(toml_value, value))}]"
    return _scalar(value) if _has_word(value) else _as_json(value)


def _has_word(value: JsonValue) -> bool:
    """Whether TOML can say a scalar."""
    if isinstance(value, str):
        return _has_utf8(value)
    return value is not None and (not isinstance(value, int) or -_LARGEST <= value < _LARGEST)


def _scalar(value: JsonValue) -> str:
    if isinstance(value, str):
        return _string(value)
    return str(value).lower() if isinstance(value, bool) else repr(value)


def from_toml(value: object) -> JsonValue:
    """The JSON value of what ``tomllib`` read; raises ``ValueError`` for dates and broken ``{ json = }``."""
    if isinstance(value, dict):
        if set(value) == {_JSON}:
            parsed: JsonValue = json.loads(str(value[_JSON]))
            return parsed
        return {name: from_toml(item) for name, item in value.items()}
    if isinstance(value, list):
        return [from_toml(item) for item in value]
    if isinstance(value, bool | int | float | str):
        return value
    raise ValueError(f"{type(value).__name__} has no JSON form")


def _inline(table: JsonObject) -> str:
    if set(table) == {_JSON} or not all(map(_has_utf8, table)):
        return _as_json(table)
    members = ", ".join(_members(table))
    return f"{{ {members} }}" if members else "{}"


def _as_json(value: JsonValue) -> str:
    return f"{{ {_JSON} = {_string(json.dumps(value))} }}"


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _string(name)


def _string(text: str) -> str:
    # JSON's escapes are TOML's, but for the control character that JSON lets stand.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _has_utf8(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text)


__all__ = ["from_toml", "toml_document", "toml_value"]
