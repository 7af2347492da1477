"""What a client sends: plain numbers for encoders, their spelling for templates."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from titocli.families.client_json import SpelledObject, carried, read_json, spelled, spelled_tools
from titocli.families.json_text import to_json

SPELLINGS = ["1e5", "1.10", "-0", "1E+2", "0.0", "-0.0", "1e999", "12345678901234567890", "7", "0.1"]
LEAVES = st.one_of(
    st.sampled_from(SPELLINGS), st.text(st.characters(exclude_categories=["Cs"]), max_size=4).map(json.dumps)
)


def _array(items: list[str]) -> str:
    return f"[{', '.join(items)}]"


def _object(items: dict[str, str]) -> str:
    return "{" + ", ".join(f"{json.dumps(key)}: {item}" for key, item in items.items()) + "}"


TEXTS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(_array),
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(_object),
    ),
    max_leaves=12,
).map(lambda inner: _object({"x": inner}))


@given(TEXTS)
def test_every_number_comes_back_as_it_was_spelled(text: str) -> None:
    assert to_json(spelled(read_json(text)), ensure_ascii=True) == text
    assert to_json(spelled(read_json(text.encode())), ensure_ascii=True) == text


@given(TEXTS)
def test_every_encoder_takes_what_was_read(text: str) -> None:
    value = read_json(text)

    assert value == json.loads(text)
    assert msgspec.json.decode(msgspec.json.encode(value)) == msgspec.json.decode(
        msgspec.json.encode(json.loads(text))
    )


def test_only_objects_around_a_spelled_number_remember_it() -> None:
    value: Any = read_json('{"a": {"b": [{"c": 1e5}]}, "d": {"e": 1.5}}')

    kinds = [type(part) for part in (value, value["a"], value["a"]["b"][0], value["d"])]
    assert kinds == [SpelledObject, SpelledObject, SpelledObject, dict]
    assert type(value["a"]["b"][0]["c"]) is float
    assert to_json(spelled(value["a"]["b"])) == '[{"c": 1e5}]'


def test_a_value_without_spelled_numbers_is_left_as_it_is() -> None:
    value: Any = {"a": [1, {"b": 1.5}], "c": "1e5"}

    assert carried(value) is value


def test_tools_have_their_numbers_back() -> None:
    tools: Any = read_json('[{"function": {"name": "f", "parameters": {"maximum": 1e5}}}, {"function": {}}]')

    assert to_json(spelled_tools(tools)).endswith('"maximum": 1e5}}}, {"function": {}}]')


@pytest.mark.parametrize(
    ("text", "read"),
    [('"a\\ud83db"', "a\ufffdb"), ('{"\\udc00": ["\\ud83d\\ude42"]}', {"\ufffd": ["\U0001f642"]})],
)
def test_a_lone_surrogate_is_the_replacement_character(text: str, read: Any) -> None:
    assert read_json(text) == read
    assert msgspec.json.encode(read_json(text))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("NaN", "NaN is no number"),
        ('{"a": -Infinity}', "-Infinity is no number"),
        ("[1,", "line 1 column 4"),
        ("01", "Extra data"),
        ("", "line 1 column 1"),
    ],
)
def test_text_that_is_no_json_is_refused_with_the_place(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read_json(text)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(UnicodeDecodeError):
        read_json(b'{"a": "\xff"}')


def test_what_is_nested_too_deeply_says_so() -> None:
    with pytest.raises(RecursionError):
        read_json("[" * 100_000)
