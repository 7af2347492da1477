"""Reported cases about what clients send back: b08, b09, and what a33 says of matching."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.rendering import LABELS, assistant, call, result, user
from tests.cases.sessions import kept, plan_of, session_of, turn
from titocli.errors import InvalidMessages
from titocli.session.matching import LOOSE_TOOL_CALL, ROLE_CONTENT_ONLY, STRICT, Matcher

STORED = '{"a": 1, "b": "é"}'
#: The same turn as client libraries send it back.
ECHO_MEMBERS: dict[str, Any] = {"content": None, "refusal": None, "annotations": [], "audio": None}


def called(arguments: Any, **more: Any) -> Any:
    return assistant("", {"index": 0, **call(arguments=arguments)}, **more)


def continues(label: str, matcher: Matcher, stored: Any, echo: Any) -> bool:
    """Whether ``echo`` counts as ``stored``; the prompt then holds the sampled ids."""
    session = session_of(label, matcher=matcher)
    first = turn(session, [user()], stored)
    answer = result() if stored.get("tool_calls") else user("v")
    plan = plan_of(session, [user(), echo, answer])
    assert plan.parent is None or kept(session, first, plan)
    return plan.parent == first.id


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("arguments", ['{"b":"\\u00e9","a":1}', {"b": "é", "a": 1}, STORED])
def test_b08_a_call_written_in_another_way_is_the_same_turn_to_the_loose_matcher(
    label: str, arguments: Any
) -> None:
    assert continues(label, LOOSE_TOOL_CALL, called(STORED), {**called(arguments), **ECHO_MEMBERS})


@pytest.mark.parametrize("label", LABELS)
def test_b08_null_members_and_an_index_are_the_same_turn_to_every_matcher(label: str) -> None:
    echo = {**called(STORED), **ECHO_MEMBERS}
    del echo["tool_calls"][0]["index"]

    for matcher in (STRICT, LOOSE_TOOL_CALL, ROLE_CONTENT_ONLY):
        assert continues(label, matcher, called(STORED), echo)


@pytest.mark.parametrize("matcher", [STRICT, LOOSE_TOOL_CALL], ids=lambda matcher: matcher.name)
@pytest.mark.parametrize("value", ["true", '"1"', "2", "null", "[1]"])
def test_b08_another_value_is_another_turn(matcher: Matcher, value: str) -> None:
    assert not continues("qwen3", matcher, called('{"a": 1}'), called(f'{{"a": {value}}}'))


def test_b08_a_whole_number_with_a_fraction_is_another_turn_to_the_strict_matcher() -> None:
    assert not continues("qwen3", STRICT, called({"a": 1}), called({"a": 1.0}))
    assert not continues("qwen3", STRICT, called({"a": 1}), called({"a": True}))


@pytest.mark.parametrize("matcher", [STRICT, LOOSE_TOOL_CALL], ids=lambda matcher: matcher.name)
def test_a33_a_key_that_is_there_twice_is_no_spelling_of_one_that_is_there_once(matcher: Matcher) -> None:
    assert not continues("qwen3", matcher, called('{"a":1,"a":2}'), called('{"a":2}'))
    assert continues("qwen3", matcher, called('{"a":1,"a":2}'), called('{"a":1,"a":2}'))


@pytest.mark.parametrize("matcher", [STRICT, LOOSE_TOOL_CALL], ids=lambda matcher: matcher.name)
def test_a33_neighbouring_numbers_and_words_for_numbers_are_told_apart(matcher: Matcher) -> None:
    pairs = [("9007199254740993", "9007199254740992"), ("0.1", "0.1000000000000000055"), ("NaN", "null")]
    for stored, echo in pairs:
        assert not continues("qwen3", matcher, called(f'{{"n": {stored}}}'), called(f'{{"n": {echo}}}'))


@pytest.mark.parametrize("label", LABELS)
def test_b09_an_echo_without_reasoning_keeps_the_sampled_thought_by_role_and_content(label: str) -> None:
    stored = assistant("a", reasoning_content="why")

    assert continues(label, ROLE_CONTENT_ONLY, stored, assistant("a"))
    assert not continues(label, ROLE_CONTENT_ONLY, stored, assistant("b"))


@pytest.mark.parametrize("matcher", [STRICT, LOOSE_TOOL_CALL], ids=lambda matcher: matcher.name)
def test_b09_another_reasoning_is_another_turn(matcher: Matcher) -> None:
    stored = assistant("a", reasoning_content="why")

    assert not continues("qwen3", matcher, stored, assistant("a", reasoning_content="because"))
    assert continues("qwen3", matcher, stored, assistant("a", reasoning_content="why"))


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("bad", [[1, 2], 3, True])
def test_b08_arguments_that_are_no_arguments_are_refused_with_the_message(label: str, bad: Any) -> None:
    with pytest.raises(InvalidMessages) as refused:
        plan_of(session_of(label), [user(), called(bad), result()])

    assert refused.value.details == {"message_index": 1}
