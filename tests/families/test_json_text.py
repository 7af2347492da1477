"""Numbers print as they were spelled."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from titocli.families.json_text import parse_json, to_json
from titocli.families.kwargs import resolve_kwargs
from titocli.families.messages import normalise_messages
from titocli.families.registry import get_family
from titocli.families.renderer import family_renderer
from titocli.jsonvalue import JsonObject

NUMBERS = [
    "1.0",
    "1e5",
    "1E+5",
    "0.1",
    "1.10",
    "-0.0",
    "-0",
    "9007199254740993",
    "1e999",
    "-1e999",
    "123456789012345678901234567890",
    "0.30000000000000004",
    "1e22",
    "NaN",
    "-Infinity",
    "9" * 5000,
]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("ensure_ascii", [True, False])
def test_a_number_prints_as_it_was_spelled(number: str, ensure_ascii: bool) -> None:
    text = f'{{"n": {number}, "in": [{number}, {{"é": {number}}}], "s": "{number}"}}'

    printed = to_json(parse_json(text), ensure_ascii=ensure_ascii)
    assert printed == (text.replace("é", "\\u00e9") if ensure_ascii else text)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    ("family", "before", "after"),
    [
        ("qwen3", '"arguments": {"n": ', "}}"),
        ("qwen35", "<parameter=n>\n", "\n</parameter>"),
        ("qwen36", "<parameter=n>\n", "\n</parameter>"),
        ("glm47", "<arg_value>", "</arg_value>"),
        ("minimax_m25", '<parameter name="n">', "</parameter>"),
        ("kimi25", '{"n": ', "}"),
        ("nemotron3", "<parameter=n>\n", "\n</parameter>"),
    ],
)
def test_a_family_prints_a_number_of_the_arguments_as_it_was_spelled(
    number: str, family: str, before: str, after: str
) -> None:
    # Python's own word for these; the other families print JSON's.
    spelled = (
        {"NaN": "nan", "-Infinity": "-inf"}.get(number, number)
        if family in {"qwen35", "nemotron3"}
        else number
    )
    call: JsonObject = {"id": "functions.f:0", "function": {"name": "f", "arguments": f'{{"n": {number}}}'}}
    contract = get_family(family)
    messages = normalise_messages(
        contract,
        [{"role": "user", "content": "u"}, {"role": "assistant", "content": "", "tool_calls": [call]}],
    )
    text = family_renderer(contract).text(messages, kwargs=resolve_kwargs(contract), generation_prompt=False)

    assert before + spelled + after in text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(value=JSON, indent=st.sampled_from([None, 2]), sort_keys=st.booleans())
def test_text_that_json_writes_is_read_and_written_the_same(
    value: Any, indent: int | None, sort_keys: bool
) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=indent, sort_keys=sort_keys)

    assert parse_json(text) == value
    assert to_json(parse_json(text), indent=indent, sort_keys=sort_keys) == text


def test_separators_and_order_are_the_callers() -> None:
    value = parse_json('{"b": 1e5, "a": [1, 2]}')

    assert to_json(value, separators=(",", ":")) == '{"b":1e5,"a":[1,2]}'
    assert to_json(value, sort_keys=True) == '{"a": [1, 2], "b": 1e5}'


def test_a_spelled_number_is_still_its_number() -> None:
    values: Any = parse_json("[1e5, -0, 1e999]")

    assert values == [100000.0, 0, float("inf")]
    assert [str(value) for value in values] == ["1e5", "-0", "1e999"]
