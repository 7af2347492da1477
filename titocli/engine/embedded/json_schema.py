"""A tool's parameter schema as a grammar of short, valid values.

Objects list their required properties in the schema's order and leave the optional ones out; strings are one
to twelve letters, digits and inner spaces (or as ``minLength`` and ``maxLength`` say); arrays have up to two
items; numbers have up to three digits.  Bounds of numbers, patterns, formats and references are not read; a
schema without a known type is a string.
"""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from titocli.engine.embedded import grammar
from titocli.engine.embedded.grammar import Expr, choice, literal, one_of, optional, repeat, sequence
from titocli.jsonvalue import JsonObject, JsonValue

#: Schemas nested deeper than this become ``{}``, ``[]`` or a string.
MAX_DEPTH = 6
_STRING_CHARS = 12
_ARRAY_ITEMS = 2
_WORD = one_of(string.ascii_letters + string.digits)
_WORD_OR_SPACE = one_of(string.ascii_letters + string.digits + " ")

_NATURAL = sequence(one_of("123456789"), repeat(one_of(string.digits), 0, 2))
_FRACTION = sequence(literal("."), repeat(one_of(string.digits), 0, 1), one_of("123456789"))
_MINUS = optional(literal("-"))
_INTEGER = choice(literal("0"), sequence(_MINUS, _NATURAL))
_NUMBER = choice(_INTEGER, sequence(_MINUS, choice(literal("0"), _NATURAL), _FRACTION))


class Spelling(StrEnum):
    """How the value itself is written; values inside objects and arrays are JSON in any case."""

    JSON = "json"
    #: Strings stand without quotes (XML parameters).
    RAW = "raw"


def phrase(char: Expr, edge: Expr, least: int, most: int) -> Expr:
    """``least`` to ``most`` of ``char``, the first and the last an ``edge`` (part of ``char``)."""
    longer = sequence(edge, repeat(char, max(least - 2, 0), most - 2), edge) if most > 1 else grammar.NEVER
    return choice(*([edge] if least <= 1 <= most else []), *([grammar.EMPTY] if least == 0 else []), longer)


def value(schema: JsonValue, spelling: Spelling = Spelling.JSON, depth: int = MAX_DEPTH) -> Expr:
    """The values of ``schema``, spelled as JSON with ``", "`` and ``": "`` as Python's ``json`` does."""
    if not isinstance(schema, Mapping) or depth == 0:
        return _string({}, spelling, depth)
    literals = _literals(schema)
    if literals:
        return choice(*(literal(spell(item, spelling)) for item in literals))
    variants = _variants(schema)
    if variants:
        return choice(*(value(variant, spelling, depth - 1) for variant in variants))
    return _BY_TYPE.get(_type_of(schema), _string)(schema, spelling, depth)


def properties(schema: JsonValue) -> dict[str, JsonValue]:
    """The schemas of an object's required properties, by name, in the schema's order."""
    known, required = _get(schema, "properties"), _get(schema, "required")
    schemas = known if isinstance(known, Mapping) else {}
    names = [name for name in _items(required) if isinstance(name, str)]
    declared = {name: schema for name, schema in schemas.items() if name in names}
    return declared | {name: {} for name in names if name not in declared}


def spell(item: JsonValue, spelling: Spelling) -> str:
    """One fixed value in its spelling."""
    if spelling is Spelling.RAW and isinstance(item, str):
        return item
    return json.dumps(item, ensure_ascii=False)


def _literals(schema: JsonObject) -> list[JsonValue]:
    return [schema["const"]] if "const" in schema else _items(schema.get("enum"))


def _variants(schema: JsonObject) -> list[JsonValue]:
    types = _items(schema.get("type"))
    if types:
        return [{**schema, "type": name} for name in types]
    return _items(schema.get("anyOf")) or _items(schema.get("oneOf"))


def _type_of(schema: JsonObject) -> str:
    name = schema.get("type", "object" if "properties" in schema else "string")
    return name if isinstance(name, str) else "string"


def _object(schema: JsonObject, _: Spelling, depth: int) -> Expr:
    if depth == 1:
        return literal("{}")
    members = [
        sequence(literal(f"{json.dumps(name, ensure_ascii=False)}: "), value(inner, depth=depth - 1))
        for name, inner in properties(schema).items()
    ]
    return sequence(literal("{"), _separated(members), literal("}"))


def _separated(members: list[Expr]) -> Expr:
    spaced = [part for member in members for part in (literal(", "), member)]
    return sequence(*spaced[1:])


def _array(schema: JsonObject, _: Spelling, depth: int) -> Expr:
    if depth == 1:
        return literal("[]")
    least = _bound(schema, "minItems", 0)
    most = max(least, min(_bound(schema, "maxItems", _ARRAY_ITEMS), _ARRAY_ITEMS))
    if most == 0:
        return literal("[]")
    item = value(schema.get("items"), depth=depth - 1)
    some = sequence(item, repeat(sequence(literal(", "), item), max(least - 1, 0), most - 1))
    return sequence(literal("["), some if least else optional(some), literal("]"))


def _string(schema: JsonObject, spelling: Spelling, _: int) -> Expr:
    ceiling = _bound(schema, "maxLength", _STRING_CHARS)
    least = _bound(schema, "minLength", min(1, ceiling))
    text = phrase(_WORD_OR_SPACE, _WORD, least, max(least, min(ceiling, _STRING_CHARS)))
    return text if spelling is Spelling.RAW else sequence(literal('"'), text, literal('"'))


def _fixed(expr: Expr) -> Callable[[JsonObject, Spelling, int], Expr]:
    return lambda _schema, _spelling, _depth: expr


_BY_TYPE: Mapping[str, Callable[[JsonObject, Spelling, int], Expr]] = {
    "object": _object,
    "array": _array,
    "string": _string,
    "integer": _fixed(_INTEGER),
    "number": _fixed(_NUMBER),
    "boolean": _fixed(choice(literal("true"), literal("false"))),
    "null": _fixed(literal("null")),
}


def _get(schema: JsonValue, key: str) -> JsonValue:
    return schema.get(key) if isinstance(schema, Mapping) else None


def _items(listed: JsonValue) -> list[JsonValue]:
    return list(listed) if isinstance(listed, Sequence) and not isinstance(listed, str) else []


def _bound(schema: JsonObject, key: str, default: int) -> int:
    bound = schema.get(key)
    return bound if isinstance(bound, int) and bound >= 0 else default


__all__ = ["MAX_DEPTH", "Spelling", "phrase", "properties", "spell", "value"]
