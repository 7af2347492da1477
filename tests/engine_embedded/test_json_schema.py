"""Whatever the schema, a value of its grammar is JSON that the schema allows."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine_embedded.schemas import SCHEMAS, allows
from tests.engine_embedded.walks import matches, random_member
from titocli.engine.embedded.json_schema import Spelling, properties, value
from titocli.jsonvalue import JsonObject


@settings(deadline=None)
@given(SCHEMAS, st.randoms(use_true_random=False))
def test_a_member_parses_and_is_allowed_by_the_schema(schema: dict[str, Any], random: random.Random) -> None:
    text = random_member(value(schema), random).decode()
    parsed = json.loads(text)
    assert allows(schema, parsed), (schema, text)
    assert json.dumps(parsed, ensure_ascii=False) == text, "spelled as a template spells it again"


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        ({"type": "string"}, '"a b"', True),
        ({"type": "string"}, '" a"', False),
        ({"type": "string"}, '"abcdefghijkl"', True),
        ({"type": "string"}, '"abcdefghijklm"', False),
        ({"type": "string"}, '""', False),
        ({"type": "string", "maxLength": 0}, '""', True),
        ({"type": "integer"}, "-0", False),
        ({"type": "integer"}, "07", False),
        ({"type": "integer"}, "-120", True),
        ({"type": "integer"}, "1.5", False),
        ({"type": "number"}, "1.5", True),
        ({"type": "number"}, "1.50", False),
        ({"type": "array", "items": {"type": "null"}}, "[null, null]", True),
        ({"type": "array", "items": {"type": "null"}}, "[null, null, null]", False),
        ({"type": "array", "maxItems": 0}, "[]", True),
        ({}, '"text"', True),
        ({"type": "mystery"}, '"text"', True),
        ({"enum": []}, '"text"', True),
        (True, '"text"', True),
    ],
)
def test_values_of_one_type(schema: Any, text: str, expected: bool) -> None:
    assert matches(value(schema), text.encode()) is expected


def test_raw_spelling_leaves_out_the_quotes_of_strings_only_at_the_top() -> None:
    raw = Spelling.RAW
    assert matches(value({"type": "string"}, raw), b"a b")
    assert not matches(value({"type": "string"}, raw), b'"a b"')
    assert matches(value({"enum": ["é", 1, None]}, raw), "é".encode())
    assert matches(value({"enum": ["é", 1, None]}, raw), b"null")
    assert matches(value({"type": "array", "items": {"type": "string"}}, raw), b'["a"]')


def test_a_schema_nested_without_end_is_cut() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(50):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    text = random_member(value(schema), random.Random(0)).decode()
    assert text == '{"a": ' * 5 + "{}" + "}" * 5
    assert json.loads(text)


def test_required_names_without_a_schema_are_strings_and_come_last() -> None:
    schema: JsonObject = {"properties": {"b": {"type": "null"}, "c": {}}, "required": ["z", "b"]}
    assert properties(schema) == {"b": {"type": "null"}, "z": {}}
    assert properties(None) == {}
