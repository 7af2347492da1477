"""JSON schemas of every shape that the grammar reads, and what they allow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

_SCALARS = (
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "integer"},
            {"type": "number"},
            {"type": "boolean"},
            {"type": "null"},
            {"type": ["string", "null"]},
            {"type": ["integer", "boolean"]},
        ]
    )
    | st.lists(st.text(max_size=5) | st.integers() | st.none() | st.booleans(), min_size=1, max_size=3).map(
        lambda items: {"enum": items}
    )
    | (st.text(max_size=5) | st.integers()).map(lambda item: {"const": item})
    | st.tuples(st.integers(0, 3), st.integers(3, 30)).map(
        lambda bounds: {"type": "string", "minLength": bounds[0], "maxLength": bounds[1]}
    )
)


NAMES = st.text(min_size=1, max_size=6)


def _grown(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    objects = st.dictionaries(NAMES, st.tuples(inner, st.booleans()), max_size=3).map(
        lambda members: {
            "type": "object",
            "properties": {name: schema for name, (schema, _) in members.items()},
            "required": [name for name, (_, needed) in members.items() if needed],
        }
    )
    arrays = st.tuples(inner, st.integers(0, 3)).map(
        lambda t: {"type": "array", "items": t[0], "minItems": t[1]}
    )
    unions = st.lists(inner, min_size=1, max_size=2).map(lambda options: {"anyOf": options})
    return objects | arrays | unions | unions.map(lambda union: {"oneOf": union["anyOf"]})


SCHEMAS = st.recursive(_SCALARS, _grown, max_leaves=4)
_JSON_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def allows(schema: Mapping[str, Any], item: Any) -> bool:
    if "const" in schema:
        return _same(item, schema["const"])
    if "enum" in schema:
        return any(_same(item, allowed) for allowed in schema["enum"])
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return any(allows(option, item) for option in schema[union])
    if isinstance(schema["type"], list):
        return any(allows({"type": name}, item) for name in schema["type"])
    return _allows_type(schema, item)


def _allows_type(schema: Mapping[str, Any], item: Any) -> bool:
    if schema["type"] == "object" and isinstance(item, dict):
        members = schema["properties"]
        return list(item) == schema["required"] and all(allows(members[k], v) for k, v in item.items())
    if schema["type"] == "array" and isinstance(item, list):
        fits = schema["minItems"] <= len(item) <= max(2, schema["minItems"])
        return fits and all(allows(schema["items"], element) for element in item)
    if isinstance(item, bool) and schema["type"] != "boolean":
        return False
    if schema["type"] == "string" and isinstance(item, str):
        return bool(schema.get("minLength", 1) <= len(item) <= schema.get("maxLength", 12))
    return isinstance(item, _JSON_TYPES.get(schema["type"], ()))


def _same(left: Any, right: Any) -> bool:
    return left == right and type(left) is type(right)
