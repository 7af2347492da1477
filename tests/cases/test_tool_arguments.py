"""Reported cases about tool-call arguments: a01, a03, a05, a27, a33, a35."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.cases.rendering import CONTRACTS, LABELS, assistant, call, result, text_of, user
from titocli.errors import InvalidMessages
from titocli.families.client_json import read_json

RICH = '{"zeta": 1, "on": true, "none": null, "é": ["<&>", 1.5, {"b": "\\"q\\"", "a": {}}], "text": "a\\nb"}'
SORTING = frozenset({"inkling"})


def conversation(arguments: Any, name: str = "f") -> list[Any]:
    return [user("go"), assistant("", call(name, arguments=arguments)), result("done", name), user("next")]


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("arguments", [RICH, "{}", '{"a": ""}', '{"a": "1"}'])
def test_a01_text_and_object_print_the_same(label: str, arguments: str) -> None:
    as_text = text_of(label, conversation(arguments))

    assert as_text == text_of(label, conversation(json.loads(arguments)))
    assert "&lt;" not in as_text
    assert "\\u" not in as_text


@pytest.mark.parametrize("label", LABELS)
def test_a03_no_arguments_print_as_the_empty_object_in_every_spelling(label: str) -> None:
    missing = conversation("{}")
    del missing[1]["tool_calls"][0]["function"]["arguments"]
    empty: tuple[Any, ...] = ("", None, "{}", {})
    spellings = [missing, *map(conversation, empty)]

    assert len({text_of(label, messages) for messages in spellings}) == 1


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("arguments", ["[1, 2]", "3", '"x"', '{"a": ', "plain words"])
def test_a05_text_that_is_no_object_is_printed_and_ends_nothing(label: str, arguments: str) -> None:
    printed = arguments.replace('"', '\\"') if CONTRACTS[label].name == "inkling" else arguments

    assert printed in text_of(label, conversation(arguments), prompt=True)


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("arguments", [[1, 2], 3, False])
def test_a05_a_value_that_is_neither_text_nor_object_is_refused(label: str, arguments: Any) -> None:
    with pytest.raises(InvalidMessages) as refused:
        text_of(label, conversation(arguments))

    assert refused.value.details == {"message_index": 1}


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("name", ["items", "keys", "values", "get", "name", "update"])
def test_a27_an_argument_may_have_the_name_of_a_method(label: str, name: str) -> None:
    plain = text_of(label, conversation({"plainkey": ["one"]}, "plaincall"))

    assert text_of(label, conversation({name: ["one"]}, name)) == re.sub("plainkey|plaincall", name, plain)
    assert "plainkey" in plain


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("number", ["9007199254740993", "1e22", "1.10", "1e999", "-0", "1" * 30])
def test_a33_a_number_prints_as_the_client_spelled_it(label: str, number: str) -> None:
    spelled = text_of(label, conversation(f'{{"n": {number}}}'))

    assert spelled == text_of(label, conversation('{"n": 777777}')).replace("777777", number)


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("number", ["1e5", "1.10", "-0", "1e999", "9007199254740993"])
def test_a33_a_number_in_a_clients_body_prints_as_it_was_spelled(label: str, number: str) -> None:
    """In arguments given as an object, and in the schema of a tool."""

    def printed(spelling: str) -> tuple[str, str]:
        schema = f'{{"type": "object", "properties": {{"n": {{"type": "number", "enum": [{spelling}]}}}}}}'
        tool = f'{{"type": "function", "function": {{"name": "f", "parameters": {schema}}}}}'
        body: Any = read_json(f'{{"arguments": {{"n": {spelling}}}, "tools": [{tool}]}}'.encode())
        return text_of(label, conversation(body["arguments"])), text_of(label, [user()], tools=body["tools"])

    spelled, plain = printed(number), printed("777777")
    assert spelled[0] == plain[0].replace("777777", number)
    assert spelled[1] == plain[1].replace("777777", number)


@pytest.mark.parametrize("label", LABELS)
def test_a33_true_is_not_one(label: str) -> None:
    printed = {text_of(label, conversation({"n": value})) for value in (True, 1, 1.0)}

    assert len(printed) == 3


@pytest.mark.parametrize("label", LABELS)
def test_a35_compact_text_prints_in_the_canonical_form_and_keys_keep_their_order(label: str) -> None:
    canonical = '{"z": 1, "a": {"y": 2, "b": [1, 2]}}'
    compact = json.dumps(json.loads(canonical), separators=(",", ":"))
    text = text_of(label, conversation(compact))

    assert text == text_of(label, conversation(canonical))
    if CONTRACTS[label].name in SORTING:
        assert '{"a":{"b":[1,2],"y":2},"z":1}' in text
    else:
        assert '{"y": 2, "b": [1, 2]}' in text
