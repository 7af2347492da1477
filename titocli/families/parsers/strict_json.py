"""JSON as a tool call may carry it: strict, bounded, and printed so that it has UTF-8."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import NoReturn

from titocli.jsonvalue import JsonValue

#: Levels of objects and lists that are read; the interpreter's own limit depends on its caller's depth.
MAX_LEVELS = 100
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_strict(text: str) -> JsonValue:
    """The value of a JSON text.

    Raises ``ValueError`` for what is no JSON, and for duplicate keys, NaN and infinities, numbers beyond the
    interpreter's limits, and more than ``MAX_LEVELS`` levels.
    """
    try:
        value: JsonValue = json.loads(
            text, object_pairs_hook=_object, parse_constant=_refuse_constant, parse_float=_finite
        )
    except RecursionError:
        raise ValueError("nested too deep") from None
    if _is_deep(value):
        raise ValueError("nested too deep")
    return value


def print_json(value: JsonValue) -> str:
    """The value as JSON text, characters unescaped; only lone surrogates are, for they have no UTF-8."""
    text = json.dumps(value, ensure_ascii=False)
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("duplicate key")
    return members


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("number out of range")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _is_deep(value: JsonValue) -> bool:
    level = [value]
    for _ in range(MAX_LEVELS):
        level = [child for parent in level for child in _children(parent) if isinstance(child, dict | list)]
        if not level:
            return False
    return True


def _children(value: JsonValue) -> Iterable[JsonValue]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


__all__ = ["MAX_LEVELS", "parse_strict", "print_json"]
