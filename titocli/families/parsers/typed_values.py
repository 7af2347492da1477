"""Values of parameters that a model wrote as bare text, typed by the tool's JSON schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from titocli.families.parsers.strict_json import parse_strict
from titocli.jsonvalue import JsonObject, JsonValue

#: Qwen3.5's template writes scalars with ``str()``, so its models answer in Python's spelling.
_PYTHON_SPELLINGS: Mapping[str, JsonValue] = {"True": True, "False": False, "None": None}
_TYPES: Mapping[type, tuple[str, ...]] = {
    bool: ("boolean",),
    int: ("integer", "number"),
    float: ("number",),
    str: ("string",),
    list: ("array",),
    dict: ("object",),
    type(None): ("null",),
}


def typed_value(text: str, types: AbstractSet[str]) -> JsonValue:
    """The value that ``text`` stands for where the schema allows ``types``.

    Text stays text where nothing but strings is allowed or nothing is known, and where it is no JSON.  Where
    strings are allowed beside other types, only a value of one of those other types is read as JSON.
    """
    if not types - {"string"}:
        return text
    try:
        value = _PYTHON_SPELLINGS[text] if text in _PYTHON_SPELLINGS else parse_strict(text)
    except ValueError:
        return text
    # A JSON string would lose its quotes, which the model may have meant.
    fits = not isinstance(value, str) if "string" not in types else _has_type(value, types - {"string"})
    return value if fits else text


def _has_type(value: JsonValue, types: AbstractSet[str]) -> bool:
    return not types.isdisjoint(_TYPES[type(value)])


def declared_types(parameters: JsonObject, name: str) -> set[str]:
    """The JSON types that the schema ``parameters`` of a tool allows for the parameter ``name``.

    ``type``, ``enum``, ``const``, the alternatives of ``anyOf``, ``oneOf``, ``allOf`` and local ``$ref``
    are looked at.  Empty where the schema does not say.
    """
    properties = parameters.get("properties")
    waiting = [properties.get(name)] if isinstance(properties, Mapping) else []
    types: set[str] = set()
    followed: set[str] = set()
    while waiting:
        schema = waiting.pop()
        if not isinstance(schema, Mapping):
            continue
        types.update(_own_types(schema))
        waiting.extend(_alternatives(schema))
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference not in followed:
            followed.add(reference)
            waiting.append(_referred(parameters, reference))
    return types


def _own_types(schema: JsonObject) -> Iterator[str]:
    for stated in _listed(schema.get("type")):
        if isinstance(stated, str):
            yield stated
    constants = [schema["const"]] if "const" in schema else []
    for value in (*constants, *_list(schema.get("enum"))):
        yield from _TYPES.get(type(value), ())


def _alternatives(schema: JsonObject) -> Iterator[JsonValue]:
    for key in ("anyOf", "oneOf", "allOf"):
        yield from _list(schema.get(key))


def _referred(root: JsonObject, reference: str) -> JsonValue:
    found: JsonValue = root
    for key in reference.removeprefix("#/").split("/"):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _list(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, list | tuple) else ()


def _listed(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, list | tuple) else (value,)


__all__ = ["declared_types", "typed_value"]
