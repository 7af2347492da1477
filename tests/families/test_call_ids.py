"""Ids of tool calls in the form that Kimi's models write."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from titocli.families.call_ids import with_functions_ids

IDS = st.sampled_from(["a", "b", "call_1", "functions.f:0", "functions.f:1", "functions.g:2", "toolu_é", ""])
CALLS = st.lists(st.tuples(IDS, st.sampled_from("fg")), max_size=3)
MODELS_FORM = re.compile(r"functions\.[fg]:\d+")


def _assistant(calls: list[tuple[str, str]]) -> Any:
    listed = [{"id": each, "function": {"name": name, "arguments": "{}"}} for each, name in calls]
    return {"role": "assistant", "content": "", **({"tool_calls": listed} if listed else {})}


def _answers(calls: list[tuple[str, str]]) -> list[Any]:
    return [{"role": "tool", "tool_call_id": each, "content": name} for each, name in calls]


TURNS = st.lists(CALLS, max_size=4).map(
    lambda turns: [message for calls in turns for message in (_assistant(calls), *_answers(calls))]
)


def _ids(messages: list[Any]) -> list[str]:
    return [call["id"] for message in messages for call in message.get("tool_calls", ())]


@given(TURNS, st.integers(0, 12))
def test_a_message_has_the_same_ids_whatever_follows_it(messages: list[Any], length: int) -> None:
    assert with_functions_ids(messages)[:length] == with_functions_ids(messages[:length])


@given(TURNS)
def test_ids_of_the_models_form_stay_and_the_others_get_it_and_are_free(messages: list[Any]) -> None:
    before, after = _ids(messages), _ids(with_functions_ids(messages))
    seen: set[str] = set()

    for given_id, new in zip(before, after, strict=True):
        assert MODELS_FORM.fullmatch(new)
        assert (given_id == new) if MODELS_FORM.fullmatch(given_id) else new not in seen
        seen.add(new)


@given(TURNS)
def test_nothing_but_ids_changes_and_a_second_time_nothing(messages: list[Any]) -> None:
    once = with_functions_ids(messages)

    assert with_functions_ids(once) == once
    assert [message["content"] for message in once] == [message["content"] for message in messages]
    assert [message["role"] for message in once] == [message["role"] for message in messages]


def test_what_the_model_sampled_stays_and_its_result_follows_it() -> None:
    messages = [_assistant([("odd", "f")]), *_answers([("odd", "f"), ("unknown", "g")])]

    assert with_functions_ids(messages, generated={0}) == messages
    renamed = with_functions_ids(messages)
    assert [message.get("tool_call_id") for message in renamed] == [None, "functions.f:0", "unknown"]


def test_the_index_counts_all_calls_of_the_conversation() -> None:
    messages = [
        _assistant([("a", "f"), ("b", "g")]),
        {"role": "user", "content": "u"},
        _assistant([("c", "f")]),
    ]

    assert _ids(with_functions_ids(messages)) == ["functions.f:0", "functions.g:1", "functions.f:2"]
