"""JSON text without changing a number: ``1e5``, ``-0``, ``1e999`` and 30 digits print as they were written.

``json.loads`` keeps a number's value, ``json.dumps`` prints the shortest spelling of that value.  A number
whose spelling is another one is read here as an int or float that remembers it; ``str`` of it and ``to_json``
print it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from titocli.jsonvalue import JsonValue

Pairs: TypeAlias = "list[tuple[str, JsonValue]]"


class SpelledInt(int):
    """An int that prints as ``spelling``."""

    spelling: str

    def __repr__(self) -> str:
        return self.spelling


class SpelledFloat(float):
    """A float that prints as ``spelling``."""

    spelling: str

    def __repr__(self) -> str:
        return self.spelling


def integer(text: str) -> int | float:
    """The whole number of JSON text, with its spelling where that is not the value's own."""
    try:
        value = int(text)
    except ValueError:
        # More digits than Python converts at once: the value is of no use, the spelling is.
        return real(text)
    if str(value) == text:
        return value
    spelled = SpelledInt(value)
    spelled.spelling = text
    return spelled


def real(text: str) -> float:
    """As ``integer``, of a number with a fraction or an exponent."""
    value = float(text)
    if repr(value) == text:
        return value
    spelled = SpelledFloat(value)
    spelled.spelling = text
    return spelled


def parse_json(text: str, *, pairs: Callable[[Pairs], JsonValue] | None = None) -> JsonValue:
    """The value of JSON text; NaN and Infinity are numbers, as Python writes them.

    ``pairs`` makes a value of each object's members.  Raises ``ValueError`` or ``RecursionError``.
    """
    value: JsonValue = json.loads(text, parse_int=integer, parse_float=real, object_pairs_hook=pairs)
    return value


#: Stands before a spelled number in place of the number itself; no valid text has lone surrogates.
_PLACEHOLDER = "\udffe\udffd"
_PLACED = re.compile(r'"(?:\udffe\udffd|\\udffe\\udffd)([-+.\w]+)"')


def to_json(
    value: Any,
    *,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """``json.dumps`` without escapes, keys in order, every number as it was spelled."""
    spelled = _has_spelled(value)
    text = json.dumps(
        _placed(value) if spelled else value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )
    return _PLACED.sub(r"\1", text) if spelled else text


def _has_spelled(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_spelled, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_has_spelled, value))
    return isinstance(value, SpelledInt | SpelledFloat)


def _placed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _placed(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_placed(item) for item in value]
    return _PLACEHOLDER + value.spelling if isinstance(value, SpelledInt | SpelledFloat) else value


__all__ = [
    "Pairs",
    "SpelledFloat",
    "SpelledInt",
    "integer",
    "parse_json",
    "real",
    "to_json",
]
