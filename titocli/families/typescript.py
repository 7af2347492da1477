"""JSON schemas as TypeScript, the way Kimi's tool declaration writes them.

The tokenizer class of Kimi-K2.5 and K2.6 does it (``tool_declaration_ts.py``); tinker-cookbook 0.6.1 carries
a copy, which the tests compare with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from titocli.families.json_text import to_json
from titocli.jsonvalue import JsonObject, JsonValue

_INDENT = "  "
_SELF = "parameters"
_UNION_NAMES = {
    "string": "string",
    "number": "number",
    "integer": "number",
    "boolean": "boolean",
    "null": "null",
    "object": "{}",
    "array": "Array<any>",
}
_ENUM_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
}
_CONSTRAINTS = {
    "string": ("maxLength", "minLength", "pattern"),
    "number": ("maximum", "minimum"),
    "integer": ("maximum", "minimum"),
    "array": ("maxItems", "minItems"),
}


class _Kind(Enum):
    """How a schema is written."""

    BOOLEAN = auto()
    REFERENCE = auto()
    ANY_OF = auto()
    ENUM = auto()
    UNION = auto()
    OBJECT = auto()
    ARRAY = auto()
    SCALAR = auto()
    ANYTHING = auto()


def _kind(schema: JsonValue) -> _Kind:
    if isinstance(schema, bool):
        return _Kind.BOOLEAN
    whole = _object_schema(schema)
    keyed = {"$ref": _Kind.REFERENCE, "anyOf": _Kind.ANY_OF, "enum": _Kind.ENUM}
    for key, kind in keyed.items():
        if key in whole:
            return kind
    if not whole:
        return _Kind.ANYTHING
    named = whole["type"]
    if isinstance(named, list):
        return _Kind.UNION
    return {"object": _Kind.OBJECT, "array": _Kind.ARRAY}.get(str(named), _Kind.SCALAR)


def _object_schema(schema: JsonValue) -> JsonObject:
    if not isinstance(schema, Mapping):
        raise TypeError("a schema that is no object")
    return schema


def _list(value: JsonValue) -> Sequence[JsonValue]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError("not a list")
    return value


@dataclass(slots=True)
class _Scope:
    """What a function's schema defines and refers to, found by reading it before it is written."""

    definitions: dict[str, JsonValue] = field(default_factory=dict)
    refers_to_itself: bool = False

    def read(self, schema: JsonValue) -> None:
        """Raises for what cannot be written."""
        kind = _kind(schema)
        if kind is _Kind.BOOLEAN:
            return
        whole = _object_schema(schema)
        if kind is _Kind.REFERENCE:
            self._read_reference(str(whole["$ref"]))
        elif kind is _Kind.OBJECT:
            self.read_object(whole)
        elif kind is _Kind.ENUM:
            _check_enum(whole)
        elif kind is _Kind.UNION:
            _union(whole, "")
        for part in _parts(kind, whole):
            self.read(part)

    def read_object(self, schema: JsonObject) -> None:
        """The definitions, the schema of further properties, then the properties."""
        self.definitions.update(_object_schema(schema.get("$defs") or {}))
        further = schema.get("additionalProperties")
        if further is not None:
            self.read(further)
        for prop in _object_schema(schema.get("properties", {})).values():
            self.read(prop)

    def _read_reference(self, reference: str) -> None:
        if reference == "#":
            self.refers_to_itself = True
        elif reference.startswith("#/$defs/"):
            _object_schema(self.definitions[_definition_name(reference)])
        else:
            raise ValueError("a reference to elsewhere")


def _parts(kind: _Kind, schema: JsonObject) -> Sequence[JsonValue]:
    """The schemas of which another type is made."""
    if kind is _Kind.ANY_OF:
        return _list(schema["anyOf"])
    return [schema["items"]] if kind is _Kind.ARRAY and schema.get("items") else []


def _check_enum(schema: JsonObject) -> None:
    """The values have the declared type, or are null."""
    declared = schema.get("type")
    if isinstance(declared, list):
        named = [name for name in declared if name != "null"]
        if len(named) > 1 or not declared or declared.count("null") > 1:
            raise ValueError("an enum of several types")
        declared = named[0] if named else "null"
    expected = _ENUM_TYPES.get(str(declared), object)
    for value in _list(schema["enum"]):
        if value is not None and not isinstance(value, expected):
            raise ValueError("an enum value of another type")


def _definition_name(reference: str) -> str:
    return reference.rpartition("/")[2]


def function_type(function: JsonObject) -> str:
    """The type of an OpenAI function, with the interfaces that its parameters refer to above it.

    The keys of ``function`` are sorted.  Raises some ``AttributeError``, ``KeyError``, ``TypeError`` or
    ``ValueError`` for a schema that cannot be written.
    """
    parameters = _object_schema(function.get("parameters") or {})
    scope = _Scope()
    scope.read_object(parameters)
    refers_to_itself = scope.refers_to_itself
    lines = [_self_interface(parameters)] if refers_to_itself else []
    lines += [_interface(scope, name, schema) for name, schema in list(scope.definitions.items())]
    if function.get("description"):
        lines.append(_comment(function["description"], ""))
    shape = _SELF if refers_to_itself else _object(parameters, "")
    return "\n".join([*lines, f"type {function.get('name', 'function')} = (_: {shape}) => any;"])


def _self_interface(parameters: JsonObject) -> str:
    """The interface of parameters that refer to themselves; they stand in the order of their names."""
    fields = _fields(parameters, _INDENT)
    body = ",\n".join(fields[name] for name in sorted(fields))
    return f"interface {_SELF} {{\n{body}\n}}" if body else f"interface {_SELF} {{}}"


def _interface(scope: _Scope, name: str, schema: JsonValue) -> str:
    scope.read(schema)
    description = _object_schema(schema).get("description")
    above = _comment(description, "") + "\n" if description else ""
    return f"{above}interface {name} {_type(schema, '')}"


def _type(schema: JsonValue, indent: str) -> str:
    if isinstance(schema, bool):
        return "any" if schema else "null"
    whole = _object_schema(schema)
    return _WRITERS[_kind(whole)](whole, indent)


def _reference(schema: JsonObject, indent: str) -> str:  # noqa: ARG001 - a writer
    reference = str(schema["$ref"])
    return _SELF if reference == "#" else _definition_name(reference)


def _any_of(schema: JsonObject, indent: str) -> str:
    return " | ".join(_type(option, indent) for option in _list(schema["anyOf"]))


def _enum(schema: JsonObject, indent: str) -> str:  # noqa: ARG001 - a writer
    return " | ".join(f'"{one}"' if isinstance(one, str) else f"{one}" for one in _list(schema["enum"]))


def _union(schema: JsonObject, indent: str) -> str:  # noqa: ARG001 - a writer
    return " | ".join(_UNION_NAMES[str(name)] for name in _list(schema["type"]))


def _scalar(schema: JsonObject, indent: str) -> str:  # noqa: ARG001 - a writer
    named = str(schema.get("type", "any"))
    return "number" if named == "integer" else named


def _object(schema: JsonObject, indent: str) -> str:
    """Required properties first, each group by name, then the type of further ones."""
    inner = indent + _INDENT
    fields = _fields(schema, inner)
    optional = _optional(schema)
    lines = [fields[name] for name in sorted(fields, key=lambda name: (name in optional, name))]
    further = schema.get("additionalProperties")
    if further is not None:
        # No further properties are of the type never, which the schema false elsewhere is not.
        lines.append(f"{inner}[k: string]: " + ("never" if further is False else _type(further, inner)))
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}" if lines else "{}"


def _optional(schema: JsonObject) -> set[str]:
    names = set(_object_schema(schema.get("properties", {})))
    return names - {str(name) for name in _list(schema.get("required", []))} if names else names


def _fields(schema: JsonObject, indent: str) -> dict[str, str]:
    optional = _optional(schema)
    properties = _object_schema(schema.get("properties", {}))
    return {name: _field(name, prop, name in optional, indent) for name, prop in properties.items()}


def _field(name: str, schema: JsonValue, is_optional: bool, indent: str) -> str:
    default = schema.get("default") if isinstance(schema, Mapping) else None
    shown = "" if default is None else f"{indent}// Default: {_literal(default)}\n"
    mark = "?" if is_optional else ""
    return f"{_comments(schema, indent)}{shown}{indent}{name}{mark}: {_type(schema, indent)}"


def _literal(value: JsonValue) -> str:
    # Numbers and booleans as Python writes them, the rest as JSON.
    return repr(value) if isinstance(value, int | float) else to_json(value)


def _array(schema: JsonObject, indent: str) -> str:
    items = schema.get("items") or {}
    comments = _comments(items, indent + _INDENT)
    if not comments:
        return f"Array<{_type(items, indent)}>"
    inner = indent + _INDENT
    return f"Array<\n{comments}{inner}{_type(items, inner)}\n{indent}>"


def _comments(schema: JsonValue, indent: str) -> str:
    """The lines above a type: what describes it, then what limits it."""
    if isinstance(schema, bool):
        return ""
    whole = _object_schema(schema)
    lines = [_comment(whole["description"], indent)] if whole.get("description") else []
    is_limited = _kind(schema) in {_Kind.SCALAR, _Kind.ARRAY}
    limits = _CONSTRAINTS.get(str(whole.get("type")), ()) if is_limited else ()
    shown = ", ".join(f"{name}: {whole[name]}" for name in limits if name in whole)
    if shown:
        lines.append(f"{indent}// {shown}")
    return "".join(f"{line}\n" for line in lines)


def _comment(description: JsonValue, indent: str) -> str:
    if not isinstance(description, str):
        raise TypeError("a description that is no text")
    return "\n".join(f"{indent}// {line}" if line else "" for line in description.split("\n"))


_WRITERS: Mapping[_Kind, Callable[[JsonObject, str], str]] = {
    _Kind.REFERENCE: _reference,
    _Kind.ANY_OF: _any_of,
    _Kind.ENUM: _enum,
    _Kind.UNION: _union,
    _Kind.OBJECT: _object,
    _Kind.ARRAY: _array,
    _Kind.SCALAR: _scalar,
    _Kind.ANYTHING: _scalar,
}


__all__ = ["function_type"]
