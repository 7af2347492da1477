"""Tool calls as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.families.parsing import TOKENIZER, calls_of, hermes_call, parse, parse_ids, statuses, tool

GOOD = hermes_call("f", {"a": 1})
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(st.text(), JSON_VALUES, max_size=4)


@given(
    st.lists(st.tuples(st.text(min_size=1), ARGUMENTS), min_size=1, max_size=4),
    st.booleans(),
    st.sampled_from(["", "so"]),
)
def test_calls_come_back_with_the_arguments_as_they_were_spelled(
    calls: list[tuple[str, dict[str, Any]]], ascii_only: bool, content: str
) -> None:
    slices = [json.dumps(arguments, ensure_ascii=ascii_only) for _, arguments in calls]
    sources = [
        f'<tool_call>\n{{"name": {json.dumps(name)}, "arguments": {spelled}}}\n</tool_call>'
        for (name, _), spelled in zip(calls, slices, strict=True)
    ]
    ids = TOKENIZER.encode((content + "\n" if content else "") + "\n".join(sources))
    parsed = parse_ids("qwen3", ids)
    assert parsed.content == content
    assert [(call.name, call.arguments) for call in parsed.tool_calls] == [
        (name, spelled) for (name, _), spelled in zip(calls, slices, strict=True)
    ]
    assert [TOKENIZER.decode(ids[attempt.start : attempt.end]) for attempt in parsed.attempts] == sources


@pytest.mark.parametrize(
    "body",
    [
        '{"arguments": {"a": 1}, "name": "f"}',
        '\r\n\t{ "name" :"f" , "arguments":{"a": 1} }  \n',
        '{"n\\u0061me": "f", "arguments": {"a": 1}}',
    ],
)
def test_order_and_whitespace_of_the_object_are_free(body: str) -> None:
    parsed = parse("qwen3", f"<tool_call>{body}</tool_call>")
    assert [(call.name, call.arguments) for call in parsed.tool_calls] == [("f", '{"a": 1}')]


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("", None),
        ("{}", None),
        ("[]", None),
        ("f", None),
        ('{"name": "f"}', "f"),
        ('{"arguments": {}}', None),
        ('{"name": 1, "arguments": {}}', None),
        ('{"name": "", "arguments": {}}', None),
        ('{"name": "f", "arguments": "{}"}', "f"),
        ('{"name": "f", "arguments": []}', "f"),
        ('{"name": "f", "arguments": null}', "f"),
        ('{"name": "f", "arguments": {}, "id": 1}', "f"),
        ('{"name": "f", "name": "f", "arguments": {}}', "f"),
        ('{"name": "f", "arguments": {"a": 1, "a": 1}}', "f"),
        ('{"name": "f", "arguments": {"b": [{"a": 1, "a": 2}]}}', "f"),
        ('{"name": "f", "arguments": {}} and more', "f"),
        ('{"name": "f", "arguments": {}}}', "f"),
        ('{"name": "f", "arguments": {}', "f"),
        ('{"name": "f", "arguments": {},}', "f"),
        ('{"name": "f" "arguments": {}}', "f"),
        ('{"name": "f", "arguments": {"a": NaN}}', "f"),
        ('{"name": "f", "arguments": {"a": -Infinity}}', "f"),
        ('{"name": "f", "arguments": {"a": 1e999}}', "f"),
        ('{"name": "f", "arguments": {"a": ' + "1" * 5000 + "}}", "f"),
        ('{"name": "f", "arguments": {"a": "b\nc"}}', "f"),
        ('{"name": "\\ud800", "arguments": {}}', None),
        ('{"name": "f", "arguments": {"a": ' + "[" * 150 + "]" * 150 + "}}", "f"),
        ('{"name": "f", "arguments": ' + '{"a":' * 100_000 + "1" + "}" * 100_000 + "}", "f"),
    ],
)
def test_what_is_no_call_is_malformed_and_stays_content(body: str, name: str | None) -> None:
    bad = f"<tool_call>\n{body}\n</tool_call>"
    ids = TOKENIZER.encode(f"{bad}\n{GOOD}")
    parsed = parse_ids("qwen3", ids)
    assert parsed.content == bad
    assert statuses(parsed) == [("malformed", name), ("ok", "f")]
    assert TOKENIZER.decode(ids[parsed.attempts[0].start : parsed.attempts[0].end]) == bad
    assert calls_of(parsed) == [("f", {"a": 1})]


@pytest.mark.parametrize(("lists", "found"), [(99, "ok"), (100, "malformed")])
@pytest.mark.parametrize("inner", ["", "1"])
def test_a_hundred_levels_are_read(lists: int, found: str, inner: str) -> None:
    arguments = '{"a": ' + "[" * lists + inner + "]" * lists + "}"
    parsed = parse("qwen3", f'<tool_call>{{"name": "f", "arguments": {arguments}}}</tool_call>')
    assert statuses(parsed) == [(found, "f")]


def test_escapes_of_lone_surrogates_stay_escapes() -> None:
    arguments = '{"a": "\\ud800", "é": "\\u00e9"}'
    parsed = parse("qwen3", f'<tool_call>{{"name": "f", "arguments": {arguments}}}</tool_call>')
    assert parsed.tool_calls[0].arguments == arguments


@pytest.mark.parametrize(
    ("text", "content", "found"),
    [
        (f'<tool_call>\n{{"name": "f", "arg\n{GOOD}', '<tool_call>\n{"name": "f", "arg', ["unclosed", "ok"]),
        (f"{GOOD}\n<tool_call>\n{{", "\n<tool_call>\n{", ["ok", "unclosed"]),
        (f"<tool_call><tool_call>\n{GOOD}", "<tool_call><tool_call>", ["unclosed", "unclosed", "ok"]),
        ('<tool_call>\n{"name": "f", "arguments": {}}', None, ["unclosed"]),
        ("</tool_call>", None, []),
        ('<tool_call>{"name": "<tool_call>', None, ["unclosed", "unclosed"]),
    ],
)
def test_attempts_that_are_not_closed_stay_content(text: str, content: str | None, found: list[str]) -> None:
    parsed = parse("qwen3", text)
    assert parsed.content == (text if content is None else content)
    assert [attempt.status.value for attempt in parsed.attempts] == found


def test_tags_inside_of_a_string_are_part_of_the_string() -> None:
    arguments = {"a": "</tool_call>", "b": GOOD}
    parsed = parse("qwen3", f"so\n{hermes_call('f', arguments)}\n{GOOD}")
    assert calls_of(parsed) == [("f", arguments), ("f", {"a": 1})]
    assert parsed.content == "so"


def test_a_tool_that_was_not_offered_is_called_and_marked() -> None:
    text = f"{GOOD}\n{hermes_call('g', {})}"
    assert statuses(parse("qwen3", text, tools=[tool("g")])) == [("unknown_tool", "f"), ("ok", "g")]
    bare = parse("qwen3", text, tools=[{"name": "g"}])
    assert calls_of(bare) == [("f", {"a": 1}), ("g", {})]
    assert statuses(bare) == [("unknown_tool", "f"), ("ok", "g")]
    assert statuses(parse("qwen3", text, tools=[])) == [("ok", "f"), ("ok", "g")]


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (f"so\n{GOOD}", "so"),
        (f"so\n\n{GOOD}", "so\n"),
        (f"so{GOOD}", "so"),
        (f"\n{GOOD}", "\n"),
        (GOOD, ""),
        (f"so\n{GOOD}\n{GOOD}", "so"),
        (f"so\n{GOOD}\n\n{GOOD}", "so\n\n\n"),
        (f"so\n{GOOD}{GOOD}", "so\n"),
        (f"so\n{GOOD}\n", "so\n\n"),
        (f"so\n{GOOD}\nand\n{GOOD}", "so\n\nand\n"),
    ],
)
def test_only_the_newlines_that_the_template_writes_are_no_content(text: str, content: str) -> None:
    assert parse("qwen3", text).content == content
