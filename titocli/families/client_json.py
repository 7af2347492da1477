"""JSON as clients send it: plain numbers for every encoder, their spelling for templates.

``1e5`` and ``1.10`` are ``100000.0`` and ``1.1`` to a program, and other tokens to a model.  A value read
here has plain numbers; an object with a number of another spelling anywhere in it remembers how it came, and
``spelled`` gives that back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from operator import is_
from typing import NoReturn, TypeAlias

import msgspec

from titocli.families.json_text import SpelledFloat, SpelledInt, integer, real
from titocli.jsonvalue import JsonObject, JsonValue, Tool

JsonText: TypeAlias = str | bytes | bytearray


class SpelledObject(dict[str, JsonValue]):
    """An object of plain numbers; ``spelled`` is the same object with the numbers as they came."""

    spelled: JsonObject


def read_json(text: JsonText) -> JsonValue:
    """The value of JSON text in UTF-8; of equal keys the last counts.

    A lone surrogate, which no UTF-8 holds, is U+FFFD.  1 MB of a conversation takes 2 ms, 1.5 times as long
    as with msgspec alone; ten times that where a number has a spelling of its own, and more for what msgspec
    does not read as it came (such a surrogate, ``-0``).  Raises ``ValueError`` (``json.JSONDecodeError`` with
    the place), for NaN and Infinity too, and ``RecursionError``.
    """
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    met: list[SpelledFloat] = []
    try:
        value: JsonValue = msgspec.json.Decoder(float_hook=partial(_noted, met)).decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return carried(_read_by_python(data))
    if _NEGATIVE_ZERO.search(data):
        return carried(_read_by_python(data))
    return carried(value) if met else value


#: The one whole number that msgspec reads as another text; it may also stand inside a string.
_NEGATIVE_ZERO = re.compile(rb"-0(?![\d.eE])")


def _noted(met: list[SpelledFloat], text: str) -> float:
    value = real(text)
    if isinstance(value, SpelledFloat):
        met.append(value)
    return value


def _read_by_python(data: bytes | bytearray) -> JsonValue:
    text = data.decode("utf-8", "surrogatepass")
    # The hook is called for every number: only where one is needed.
    whole = integer if _NEGATIVE_ZERO.search(data) else None
    value: JsonValue = json.loads(text, parse_int=whole, parse_float=real, parse_constant=_refuse)
    return _without_surrogates(value)


def _without_surrogates(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_SURROGATE.sub("\ufffd", key): _without_surrogates(item) for key, item in value.items()}
    return [_without_surrogates(item) for item in value] if isinstance(value, list) else value


_SURROGATE = re.compile("[\ud800-\udfff]")


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


#: What has no spelled number in it.
_PLAIN = frozenset({str, int, float, bool, type(None)})


def carried(value: JsonValue) -> JsonValue:
    """``value`` in plain numbers, each object with a spelled number anywhere in it as a ``SpelledObject``."""
    if isinstance(value, SpelledInt):
        return int(value)
    if isinstance(value, SpelledFloat):
        return float(value)
    if isinstance(value, list) and not _PLAIN.issuperset(map(type, value)):
        items = [carried(item) for item in value]
        return value if all(map(is_, items, value)) else items
    if isinstance(value, dict) and not _PLAIN.issuperset(map(type, value.values())):
        return _carried_object(value)
    return value


def _carried_object(value: dict[str, JsonValue]) -> JsonValue:
    plain = {key: carried(item) for key, item in value.items()}
    if all(map(is_, plain.values(), value.values())):
        return value
    made = SpelledObject(plain)
    made.spelled = value
    return made


def spelled(value: JsonValue) -> JsonValue:
    """``value`` with its numbers as they were spelled."""
    if isinstance(value, SpelledObject):
        return value.spelled
    if isinstance(value, Mapping):
        return {key: spelled(item) for key, item in value.items()}
    return [spelled(item) for item in value] if isinstance(value, list | tuple) else value


def spelled_tools(tools: Sequence[Tool]) -> list[Tool]:
    """Tools with the numbers of their schemas as they were spelled."""
    found = map(spelled, tools)
    return [tool for tool in found if isinstance(tool, Mapping)]


__all__ = ["SpelledObject", "carried", "read_json", "spelled", "spelled_tools"]
