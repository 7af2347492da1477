"""Tool calls as tags, and values typed by schema."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.families.parsing import TOKENIZER, calls_of, parse, parse_ids, statuses, tool, xml_call

GOOD = xml_call("f", {"a": "1"})
NAMES = st.text(st.characters(exclude_characters="<>\n", exclude_categories=["Cs"]), min_size=1, max_size=8)
VALUES = st.one_of(
    st.text(),
    st.lists(st.sampled_from(["\n", "</parameter>", "<parameter=a>", "<tool_call>", "</function>", "x"])).map(
        "".join
    ),
)


def _is_readable(value: str) -> bool:
    """Values that no parser can tell from tags are those that spell the end of a parameter, or a new call."""
    ends = any(f"\n</parameter>\n{tag}" in f"\n{value}\n" for tag in ("<parameter=", "</function>"))
    return not ends and "<tool_call>\n<function=" not in value and "<tool_call><function=" not in value


@given(
    st.lists(st.tuples(NAMES, st.dictionaries(NAMES, VALUES, max_size=3)), min_size=1, max_size=3),
    st.sampled_from(["", "so", "so\n"]),
)
def test_calls_and_text_come_back(calls: list[tuple[str, dict[str, str]]], content: str) -> None:
    assume(all(_is_readable(value) for _, arguments in calls for value in arguments.values()))
    sources = [xml_call(name, arguments) for name, arguments in calls]
    ids = TOKENIZER.encode((content + "\n\n" if content else "") + "\n".join(sources))
    parsed = parse_ids("qwen35", ids)
    assert calls_of(parsed) == calls
    assert [list(json.loads(call.arguments)) for call in parsed.tool_calls] == [list(a) for _, a in calls]
    assert parsed.content == content
    assert [TOKENIZER.decode(ids[attempt.start : attempt.end]) for attempt in parsed.attempts] == sources


@pytest.mark.parametrize(
    ("parameters", "arguments"),
    [
        ("<parameter=a>1</parameter>\n<parameter=b>2</parameter>", {"a": "1", "b": "2"}),
        ("<parameter=a>\n1</parameter><parameter=b>2\n</parameter>", {"a": "1", "b": "2"}),
        ("<parameter=a>\n</parameter>\n", {"a": ""}),
        ("<parameter=a></parameter>\n", {"a": ""}),
        ("<parameter=a>\n\n</parameter>\n", {"a": ""}),
        ("<parameter=a>\n\n\n\n</parameter>\n", {"a": "\n\n"}),
        ("<parameter=a>\nx</parameter>\n</function>y\n</parameter>\n", {"a": "x</parameter>\n</function>y"}),
        ("<parameter=a>\n</parameter>\n</parameter>\n", {"a": "</parameter>"}),
        ("", {}),
    ],
)
def test_one_newline_on_each_side_belongs_to_the_tags(parameters: str, arguments: dict[str, str]) -> None:
    parsed = parse("qwen35", f"<tool_call>\n<function=f>\n{parameters}</function>\n</tool_call>")
    assert calls_of(parsed) == [("f", arguments)]


@pytest.mark.parametrize(
    ("bad", "status", "name"),
    [
        ("<tool_call>\n</tool_call>", "malformed", None),
        ("<tool_call>\n<function=>\n</function>\n</tool_call>", "malformed", None),
        ('<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>', "malformed", None),
        ("<tool_call>\n<function=f>\n</tool_call>", "malformed", "f"),
        ("<tool_call>\n<function=f>\nx\n</function>\n</tool_call>", "malformed", "f"),
        ("<tool_call>\n<function=f>\n</function>\nx\n</tool_call>", "malformed", "f"),
        ("<tool_call>\n<function=f>\n<parameter=a>\n1\n</function>\n</tool_call>", "malformed", "f"),
        (
            "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n"
            "<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
            "malformed",
            "f",
        ),
        ("<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>", "unclosed", "f"),
        ("<tool_call>\n<function=f>\n<parameter=a>\n1", "unclosed", "f"),
        ("<tool_call>\n<function=f", "unclosed", None),
        ("<tool_call>", "unclosed", None),
    ],
)
def test_what_is_no_call_stays_content_and_later_calls_are_found(
    bad: str, status: str, name: str | None
) -> None:
    parsed = parse("qwen35", f"{bad}\n\n{GOOD}")
    assert parsed.content == bad
    assert statuses(parsed) == [(status, name), ("ok", "f")]
    alone = parse("qwen35", bad)
    assert (alone.content, statuses(alone)) == (bad, [(status, name)])


def test_a_tool_that_was_not_offered_is_called_and_marked() -> None:
    parsed = parse("qwen35", f"{GOOD}\n{xml_call('g', {})}", tools=[tool("g")])
    assert statuses(parsed) == [("unknown_tool", "f"), ("ok", "g")]
    assert calls_of(parsed) == [("f", {"a": "1"}), ("g", {})]


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (f"so\n\n{GOOD}", "so"),
        (f"so\n\n\n{GOOD}", "so\n"),
        (f"so\n{GOOD}", "so\n"),
        (f"\n\n{GOOD}", "\n\n"),
        (f"so\n\n{GOOD}\n{GOOD}", "so"),
        (f"so\n\n{GOOD}\n\n{GOOD}", "so\n\n\n\n"),
        (f"so\n\n{GOOD}.", "so\n\n."),
    ],
)
def test_only_the_newlines_that_the_template_writes_are_no_content(text: str, content: str) -> None:
    assert parse("qwen35", text).content == content


STRING, INTEGER, NULL = {"type": "string"}, {"type": "integer"}, {"type": "null"}


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (STRING, "1", "1"),
        (STRING, "null", "null"),
        (STRING, '"quoted"', '"quoted"'),
        (STRING, " x\n", " x\n"),
        (INTEGER, "-7", -7),
        (INTEGER, "1.5", 1.5),
        (INTEGER, "seven", "seven"),
        (INTEGER, '"7"', '"7"'),
        (INTEGER, "None", None),
        (INTEGER, "1" * 5000, "1" * 5000),
        ({"type": "number"}, "1e-07", 1e-07),
        ({"type": "number"}, "1e999", "1e999"),
        ({"type": "number"}, "NaN", "NaN"),
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "True", True),
        ({"type": "boolean"}, "False", False),
        ({"type": "boolean"}, "TRUE", "TRUE"),
        ({"type": "null"}, "null", None),
        ({"type": "object"}, '{"b": 1, "a": [true]}', {"b": 1, "a": [True]}),
        ({"type": "object"}, '{"b": 1, "b": 2}', '{"b": 1, "b": 2}'),
        ({"type": "array"}, "[\n1,\n2]", [1, 2]),
        ({"type": "array"}, "[" * 100_000, "[" * 100_000),
        ({"type": "array"}, "[" * 500 + "]" * 500, "[" * 500 + "]" * 500),
        ({"type": ["string", "null"]}, "None", None),
        ({"type": ["string", "null"]}, "7", "7"),
        ({"type": ["integer", "string"]}, "7", 7),
        ({"type": ["integer", "string"]}, '"7"', '"7"'),
        ({"type": ["integer", "string"]}, "7.5", "7.5"),
        ({"type": ["number", "string"]}, "7", 7),
        ({"anyOf": [STRING, INTEGER]}, "7", 7),
        ({"oneOf": [INTEGER, NULL]}, "null", None),
        ({"allOf": [{"$ref": "#/$defs/Count"}]}, "7", 7),
        ({"$ref": "#/$defs/Loop"}, "7", 7),
        ({"$ref": "#/$defs/Missing"}, "7", "7"),
        ({"enum": [1, 2]}, "1", 1),
        ({"enum": ["1", "2"]}, "1", "1"),
        ({"const": 1}, "1", 1),
        ({}, "1", "1"),
        (True, "1", "1"),
        ({"type": 5, "anyOf": 7, "enum": "ab"}, "1", "1"),
    ],
)
def test_values_have_the_types_of_the_schema(schema: Any, text: str, value: Any) -> None:
    offered = tool("f", k=schema)
    offered["function"]["parameters"]["$defs"] = {
        "Count": INTEGER,
        "Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}, INTEGER]},
    }
    ((name, arguments),) = calls_of(parse("qwen36", xml_call("f", {"k": text}), tools=[offered]))
    assert (name, arguments, type(arguments["k"])) == ("f", {"k": value}, type(value))


@pytest.mark.parametrize(
    "offered",
    [
        {"type": "function", "function": {"name": "f"}},
        {"type": "function", "function": {"name": "f", "parameters": None}},
        {"type": "function", "function": {"name": "f", "parameters": {"properties": []}}},
        tool("f", other={"type": "integer"}),
    ],
)
def test_parameters_without_a_schema_are_strings(offered: dict[str, Any]) -> None:
    parsed = parse("qwen35", GOOD, tools=[offered])
    assert (calls_of(parsed), statuses(parsed)) == ([("f", {"a": "1"})], [("ok", "f")])


def test_arguments_are_json_without_escapes_but_for_lone_surrogates() -> None:
    text = xml_call("f", {"é": '["ü", "\\ud800", "\\ud83d\\ude00"]'})
    (call,) = parse("qwen35", text, tools=[tool("f", é={"type": "array"})]).tool_calls
    assert call.arguments == '{"é": ["ü", "\\ud800", "😀"]}'


def test_a_call_that_begins_anew_is_read_and_the_broken_start_is_not_its_value() -> None:
    parsed = parse("qwen35", f"<tool_call>\n<function=f>\n<parameter=a>\nx\n\n{GOOD}")
    assert parsed.content == "<tool_call>\n<function=f>\n<parameter=a>\nx"
    assert statuses(parsed) == [("unclosed", "f"), ("ok", "f")]
