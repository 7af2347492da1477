"""One spelling for equal JSON values: what matchers hash.

Two notions of equality: by value and JSON type (``true`` is not ``1``, ``1`` is not ``1.0``), and of the
arguments of a tool call as JSON objects, where numbers are exact decimals (``1``, ``1.0`` and ``1e0`` are
one number) and text and object are one thing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import NoReturn, TypeAlias

import msgspec

from titocli.jsonvalue import JsonValue

#: Levels of arguments that are compared as an object.  The interpreter's own limit depends on who calls, so
#: that one message could be hashed in two ways.
MAX_DEPTH = 100

_NUMBER = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?")


class _Number(str):
    """A JSON number as its exact decimal: digits without outer zeros, ``e``, a power of ten."""

    __slots__ = ()


_Parsed: TypeAlias = "JsonValue | _Number"


def canonical_json(value: JsonValue) -> bytes:
    """One spelling for values equal by value and type: sorted keys, no spaces; numbers keep their type."""
    try:
        return msgspec.json.encode(value, order="deterministic")
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8
        return json.dumps(value, sort_keys=True).encode()


def canonical_arguments(arguments: JsonValue) -> bytes | None:
    """One spelling for arguments that are the same JSON object; None and ``""`` are ``{}``.

    None for what is no such object: other JSON, text that is no JSON, a key twice, NaN or infinity, more
    than ``MAX_DEPTH`` levels.
    """
    try:
        value: _Parsed = _parse(arguments) if isinstance(arguments, str) else arguments
        if value is None:
            value = {}
        return canonical_json(_tagged(value, 0)) if isinstance(value, Mapping) else None
    except (ValueError, RecursionError):
        return None


def _parse(text: str) -> _Parsed:
    if not text:
        return {}
    parsed: _Parsed = json.loads(
        text, parse_int=_number, parse_float=_number, parse_constant=_refuse, object_pairs_hook=_once
    )
    return parsed if isinstance(parsed, Mapping) else text


def _number(text: str) -> _Number:
    found = _NUMBER.fullmatch(text)
    if found is None:  # inf and nan, as Python writes them
        raise ValueError
    sign, whole, fraction, exponent = found.groups(default="")
    digits = (whole + fraction).lstrip("0")
    kept = digits.rstrip("0")
    power = int(exponent or 0) - len(fraction) + len(digits) - len(kept)
    return _Number(f"{sign}{kept}e{power}" if kept else "0")


def _refuse(_: str) -> NoReturn:
    raise ValueError


def _once(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError
    return made


def _tagged(value: _Parsed, depth: int) -> JsonValue:
    """Numbers and lists as lists with a tag, so that nothing else is spelled like a number."""
    if depth > MAX_DEPTH:
        raise ValueError
    if isinstance(value, _Number):
        return ["n", str(value)]
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        return ["n", str(_number(repr(value)))]
    if isinstance(value, Mapping):
        return {key: _tagged(item, depth + 1) for key, item in value.items()}
    if isinstance(value, Sequence):
        return ["l", *(_tagged(item, depth + 1) for item in value)]
    raise ValueError


__all__ = ["MAX_DEPTH", "canonical_arguments", "canonical_json"]
