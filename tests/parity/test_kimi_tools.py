"""The tool declaration is, for any tools, the text that Kimi's own code makes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.parity.kimi_declaration import declared
from titocli.families.kimi_tools import tools_text, with_tools_text
from titocli.families.registry import get_family
from titocli.verify.tool_samples import TOOLS

pytestmark = pytest.mark.assets

NAMES = st.sampled_from(["city", "a", "Z", "é", "with space", "_"])
TEXTS = st.sampled_from(["", "x", "two\nlines", "\n", 'say "é" <b>', "// c"])
SCALARS = st.sampled_from(["x", 'q"', "", 0, -3, 1.5, 1e-07, True, False, None])
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=2), st.dictionaries(NAMES, SCALARS, max_size=2))
TYPE_NAMES = st.sampled_from(["string", "number", "integer", "boolean", "null", "object", "array", "other"])
LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "description": TEXTS,
        "default": VALUES,
        "maxLength": st.integers(),
        "minLength": st.integers(),
        "pattern": TEXTS,
        "maximum": st.floats(allow_nan=False),
        "minimum": st.integers(),
        "minItems": st.integers(),
        "maxItems": st.integers(),
        "$comment": TEXTS,
    },
)
REFERENCES = st.sampled_from(["#", "#/$defs/Node", "#/$defs/Leaf", "#/$defs/Gone", "https://x"])


def _merged(*parts: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.tuples(*parts).map(lambda made: {key: value for part in made for key, value in part.items()})


def _deeper(schemas: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        _objects(schemas),
        _merged(LIMITS, st.fixed_dictionaries({"type": st.just("array")}, optional={"items": schemas})),
        _merged(LIMITS, st.fixed_dictionaries({"anyOf": st.lists(schemas, max_size=3)})),
    )


def _objects(schemas: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return _merged(
        LIMITS,
        st.fixed_dictionaries(
            {"type": st.just("object")},
            optional={
                "properties": st.dictionaries(NAMES, schemas, max_size=3),
                "required": st.lists(NAMES, max_size=2),
                "additionalProperties": st.one_of(st.booleans(), schemas),
                "$defs": st.dictionaries(st.sampled_from(["Node", "Leaf"]), schemas, max_size=2),
            },
        ),
    )


SIMPLE = st.one_of(
    st.booleans(),
    st.just({}),
    _merged(LIMITS, st.fixed_dictionaries({"type": TYPE_NAMES})),
    _merged(LIMITS, st.fixed_dictionaries({"type": st.lists(TYPE_NAMES, min_size=1, max_size=3)})),
    _merged(LIMITS, st.fixed_dictionaries({"enum": st.lists(SCALARS, max_size=3)})),
    _merged(
        LIMITS,
        st.fixed_dictionaries(
            {
                "enum": st.lists(SCALARS, max_size=3),
                "type": st.one_of(TYPE_NAMES, st.lists(TYPE_NAMES, max_size=3, unique=True)),
            }
        ),
    ),
    _merged(LIMITS, st.fixed_dictionaries({"$ref": REFERENCES})),
    LIMITS,
)
SCHEMAS = st.recursive(SIMPLE, _deeper, max_leaves=6)
FUNCTIONS = st.fixed_dictionaries(
    {"name": NAMES},
    optional={"description": TEXTS, "parameters": _objects(SCHEMAS), "strict": st.booleans()},
)
ANY_TOOLS = st.lists(st.fixed_dictionaries({"type": st.just("function"), "function": FUNCTIONS}), max_size=3)


@settings(max_examples=1_000, deadline=None)
@given(ANY_TOOLS)
def test_any_tools_are_declared_as_kimis_own_code_does_it(tools: list[Any]) -> None:
    if tools:
        assert tools_text(tools) == declared(tools)


def _tool(parameters: Any, **fields: Any) -> Any:
    return {"type": "function", "function": {"name": "f", "parameters": parameters, **fields}}


def _objects_of(**properties: Any) -> Any:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("parameters", "shape"),
    [
        (None, "{}"),
        (_objects_of(), "{}"),
        ({"additionalProperties": False}, "{\n  [k: string]: never\n}"),
        (
            {"properties": {"b": {"type": "integer"}, "a": True}, "required": ["b"]},
            "{\n  b: number,\n  a?: any\n}",
        ),
        (
            _objects_of(a={"enum": ["x", None, True], "default": True}),
            '{\n  // Default: True\n  a?: "x" | None | True\n}',
        ),
        (_objects_of(a={"type": ["array", "null"]}), "{\n  a?: Array<any> | null\n}"),
        (
            _objects_of(a={"type": "array", "items": {"type": "string", "maxLength": 3}}),
            "{\n  a?: Array<\n    // maxLength: 3\n    string\n  >\n}",
        ),
    ],
)
def test_a_schema_is_written_as_typescript(parameters: Any, shape: str) -> None:
    tool = _tool(parameters, description="What\n\nit does")
    expected = f"# Tools\n\n## functions\nnamespace functions {{\n// What\n\n// it does\ntype f = (_: {shape}) => any;\n}}\n"
    assert tools_text([tool]) == expected == declared([tool])


@pytest.mark.parametrize(
    "parameters",
    [
        _objects_of(a={"description": "no type"}),
        _objects_of(a={"$ref": "#/$defs/Gone"}),
        _objects_of(a={"enum": [1], "type": "string"}),
        _objects_of(a={"type": ["string", "other"]}),
        _objects_of(a={"type": "string", "description": 3}),
        _objects_of(a="string"),
        {"type": "object", "properties": [], "required": None},
        {"additionalProperties": "yes"},
    ],
)
def test_what_cannot_be_written_so_is_the_json_of_the_sorted_tools(parameters: Any) -> None:
    tools = [_tool(_objects_of()), _tool(parameters)]
    assert tools_text(tools) == declared(tools)
    assert tools_text(tools).startswith('[{"function":{"name":"f","parameters":{"properties":{},')


def test_references_become_interfaces_above_the_function() -> None:
    node = {"type": "object", "description": "A node", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    own = {
        **_objects_of(b={"$ref": "#"}, a={"$ref": "#/$defs/Node"}),
        "required": ["b"],
        "$defs": {"Node": node},
    }
    text = tools_text([_tool(own)])
    assert text == declared([_tool(own)])
    assert "interface parameters {\n  a?: Node,\n  b: parameters\n}\n// A node\ninterface Node {" in text
    assert "type f = (_: parameters) => any;" in text


def test_the_order_of_keys_does_not_matter_and_that_of_tools_does() -> None:
    tools = list(TOOLS)
    turned = [dict(reversed([*tool.items()])) for tool in tools]
    assert tools_text(turned) == tools_text(tools)
    assert tools_text(tools[::-1]) != tools_text(tools)


def test_a_tool_of_another_type_is_left_out_and_alone_is_printed_as_json() -> None:
    plugin = {**_tool(_objects_of()), "type": "_plugin"}
    assert tools_text([plugin, _tool(None)]) == tools_text([_tool(None)]) == declared([plugin, _tool(None)])
    assert tools_text([plugin]) == declared([plugin])
    assert tools_text([plugin]).startswith("[{")


@pytest.mark.parametrize("name", ["kimi25", "kimi26"])
def test_the_renderer_computes_the_text_where_nobody_gave_it(name: str) -> None:
    family, tools = get_family(name), [_tool(None)]
    assert with_tools_text(family, tools, {"a": 1}) == {"a": 1, "tools_ts_str": tools_text(tools)}
    assert with_tools_text(family, tools, {"tools_ts_str": None})["tools_ts_str"] == tools_text(tools)
    assert with_tools_text(family, tools, {"tools_ts_str": ""}) == {"tools_ts_str": ""}
    assert with_tools_text(family, [], {}) == {}
    assert with_tools_text(get_family("qwen3"), tools, {}) == {}
