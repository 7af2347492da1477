"""Which replayed messages are the stored ones: the pairs of calls that clients spell their own way."""

from __future__ import annotations

from typing import Any

import pytest

from tests.session.conftest import Transcript, assistant, renderer_of, tool, user
from titocli.session.arguments import CallArguments
from titocli.session.history import HistoryPolicy
from titocli.session.matching import BUILT_IN, LOOSE_TOOL_CALL, ROLE_CONTENT_ONLY, STRICT, HashedMatcher
from titocli.session.session import Session

U, MORE = user("hello"), user("more")
MISSING = object()


def calling(arguments: Any, **call: Any) -> dict[str, Any]:
    function = {"name": "f"} if arguments is MISSING else {"name": "f", "arguments": arguments}
    return assistant("", tool_calls=[{"id": "call-A", "type": "function", "function": function, **call}])


def same(matcher: HashedMatcher, stored: Any, replayed: Any) -> bool:
    return matcher.digest(stored) == matcher.digest(replayed)


@pytest.mark.regression("R15")
@pytest.mark.parametrize(
    ("stored", "replayed", "strict", "loose"),
    [
        ('{"city":"Paris"}', '{"city": "Paris"}', False, True),
        ('{"city":"Paris"}', {"city": "Paris"}, False, True),
        (None, "", False, True),
        ("", {}, False, True),
        ({}, "{}", False, True),
        ("{}", "{ }", False, True),
        ('{"n":1e0}', {"n": 1.0}, False, True),
        ('{"n":1}', {"n": 1.0}, False, True),
        ({"n": 1}, {"n": 1.0}, False, True),
        ('{"a":1,"b":2}', '{"b":2,"a":1}', False, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True, True),
        ('{"k":"é"}', '{"k":"\\u00e9"}', False, True),
        ('{"value":true}', '{"value":1}', False, False),
        ({"v": True}, {"v": 1}, False, False),
        ('{"value":null}', '{"value":"null"}', False, False),
        ('{"a":1}', '{"a":"1"}', False, False),
        ([1, 2], [2, 1], False, False),
        ('{"a":[1,2]}', '{"a":[2,1]}', False, False),
        ('{"a":1,"a":1}', '{"a":1}', False, False),
        ('{"a":NaN}', '{"a":NaN}', True, True),
        ('{"a":NaN}', '{"a": NaN}', False, False),
        ('{"a":', '{"a":', True, True),
        ('{"a":', '{"a": ', False, False),
        ("[]", "[ ]", False, False),
        ("", "[]", False, False),
        ("0", 0, False, False),
        (MISSING, "", False, False),
        (MISSING, {}, False, False),
        (MISSING, MISSING, True, True),
    ],
)
def test_arguments_of_a_replayed_call(stored: Any, replayed: Any, strict: bool, loose: bool) -> None:
    one, other = calling(stored), calling(replayed)

    assert (same(STRICT, one, other), same(LOOSE_TOOL_CALL, one, other)) == (strict, loose)
    assert same(ROLE_CONTENT_ONLY, one, other)


@pytest.mark.regression("R15")
@pytest.mark.parametrize("matcher", [STRICT, LOOSE_TOOL_CALL], ids=lambda matcher: matcher.name)
@pytest.mark.parametrize(
    ("stored", "replayed", "expected"),
    [
        (calling("{}"), calling("{}", id="call-B"), False),
        (calling("{}"), calling("{}", type="custom"), False),
        (calling("{}"), calling("{}", extra=1), False),
        (calling("{}"), calling("{}", function={"name": "g", "arguments": "{}"}), False),
        (calling("{}"), calling("{}", function={"name": "f", "arguments": "{}", "strict": True}), False),
        (calling("{}", index=0), calling("{}", index=91), True),
        (calling("{}", index=0), calling("{}"), True),
        (assistant("x"), assistant("x", tool_calls=None), True),
        (assistant(""), {"role": "assistant"}, True),
        (assistant(""), assistant([]), True),  # type: ignore[arg-type] # no text on purpose
        ({"role": "assistant", "content": None}, assistant(""), True),
        (assistant("hi"), assistant("hi\n"), False),
        (assistant("hi"), assistant("hi", refusal=None, annotations=[], audio=None), True),
        (assistant("hi"), assistant("hi", reasoning_content="r"), False),
        (assistant("hi", reasoning_content=""), assistant("hi"), True),
        (assistant("hi"), user("hi"), False),
    ],
)
def test_messages_beside_their_arguments(
    matcher: HashedMatcher, stored: Any, replayed: Any, expected: bool
) -> None:
    assert same(matcher, stored, replayed) is expected


@pytest.mark.hazard(7)
@pytest.mark.parametrize("matcher", [STRICT, LOOSE_TOOL_CALL], ids=lambda matcher: matcher.name)
def test_results_of_different_calls_and_of_different_tools_are_different(matcher: HashedMatcher) -> None:
    assert not same(matcher, tool("4", "a"), tool("4", "b"))
    assert not same(matcher, {**tool("4"), "name": "f"}, {**tool("4"), "name": "g"})
    assert same(ROLE_CONTENT_ONLY, tool("4", "a"), tool("4", "b"))


@pytest.mark.hazard(12)
@pytest.mark.parametrize("matcher", BUILT_IN, ids=lambda matcher: matcher.name)
def test_null_and_empty_content_beside_calls_are_one(matcher: HashedMatcher) -> None:
    assert same(matcher, calling("{}"), {**calling("{}"), "content": None})


SAMPLED = calling('{"city": "Paris", "days": 2}')
RESPELLED = calling('{"days":2.0,"city":"Paris"}')
OBJECT = calling({"days": 2, "city": "Paris"})
RESULT = tool("sunny", "call-A")


def transcript(policy: HistoryPolicy, matcher: HashedMatcher = STRICT) -> Transcript:
    of = Transcript(Session(renderer_of("qwen3"), policy, matcher=matcher))
    of.turn([U], SAMPLED)
    return of


@pytest.mark.regression("R15")
@pytest.mark.parametrize("policy", list(HistoryPolicy))
def test_after_a_loose_match_the_stored_spelling_and_the_stored_ids_stay(policy: HistoryPolicy) -> None:
    of = transcript(policy, LOOSE_TOOL_CALL)
    stored = of.session.tree.ids(0).tolist()
    plan = of.plan([U, RESPELLED, RESULT])
    assert plan.prompt_ids.tolist()[: len(stored)] == stored
    of.commit(plan, of.completion(assistant("it is sunny")))

    assert of.session.tree.messages(1) == [U, SAMPLED, RESULT, assistant("it is sunny")]
    for spelled in (SAMPLED, RESPELLED, OBJECT):
        again = of.plan([U, spelled, RESULT, assistant("it is sunny"), MORE])
        assert again.parent == 1
        assert list(again.messages) == [U, SAMPLED, RESULT, assistant("it is sunny"), MORE]


@pytest.mark.regression("R15")
def test_a_replay_in_another_spelling_is_a_new_path_for_the_strict_matcher() -> None:
    assert transcript(HistoryPolicy.TREE).plan([U, RESPELLED, RESULT]).parent is None
    retry = transcript(HistoryPolicy.LINEAR).plan([U, RESPELLED, RESULT])
    assert (retry.parent, list(retry.messages)) == (None, [U, RESPELLED, RESULT])


@pytest.mark.regression("R25")
@pytest.mark.parametrize("policy", list(HistoryPolicy))
def test_a_format_that_carries_values_is_strict_about_values(policy: HistoryPolicy) -> None:
    of = transcript(policy)
    by_value = {"call_arguments": CallArguments.VALUE}

    plan = of.plan([U, OBJECT, RESULT], **by_value)
    assert (plan.parent, list(plan.messages)) == (0, [U, SAMPLED, RESULT])
    of.commit(plan, of.completion(assistant("sunny")))
    # Mixed formats: the text of the stored call is still what a format that carries text must replay.
    assert of.plan([U, SAMPLED, RESULT, assistant("sunny"), MORE]).parent == 1
    for other in ({"days": 3, "city": "Paris"}, {"days": True, "city": "Paris"}, {"city": "Paris"}):
        assert (
            of.session.policy is HistoryPolicy.LINEAR
            or of.plan([U, calling(other), RESULT], **by_value).parent is None
        )
    assert of.plan([U, {**OBJECT, "reasoning_content": ""}, RESULT], **by_value).parent == 0


@pytest.mark.case("b09")
def test_reasoning_that_a_client_drops_matters_to_strict_and_not_to_role_and_content() -> None:
    thought = assistant("hi", reasoning_content="hm")
    for matcher, parent in ((STRICT, None), (LOOSE_TOOL_CALL, None), (ROLE_CONTENT_ONLY, 0)):
        of = Transcript(Session(renderer_of("qwen3"), HistoryPolicy.TREE, matcher=matcher))
        of.turn([U], thought)
        assert of.plan([U, assistant("hi"), MORE]).parent == parent
        assert of.plan([U, thought, MORE]).messages[1] == thought


@pytest.mark.case("b20")
def test_a_character_that_a_length_limit_cut_is_replayed_as_it_was_told() -> None:
    cut = assistant("caf\ufffd")
    of = Transcript(Session(renderer_of("qwen3"), HistoryPolicy.LINEAR))
    turn = of.turn([U], cut)
    plan = of.plan([U, cut, MORE])

    assert plan.prompt_ids[: turn.token_count] == of.session.tree.ids(0)


@pytest.mark.hazard(8)
@pytest.mark.parametrize("matcher", BUILT_IN, ids=lambda matcher: matcher.name)
def test_a_request_is_found_among_a_thousand_branches_by_its_own_length(matcher: HashedMatcher) -> None:
    hashed: list[Any] = []

    def seen(message: Any) -> Any:
        hashed.append(message)
        return matcher.seen(message)

    counting = HashedMatcher(matcher.name, seen)
    of = Transcript(Session(renderer_of("qwen3"), HistoryPolicy.TREE, matcher=counting))
    of.turn([U], SAMPLED)
    for number in range(200):
        of.turn([U, SAMPLED, user(f"{number}")], assistant(f"{number}"))
    hashed.clear()

    assert of.plan([U, SAMPLED, user("7"), assistant("7"), MORE]).parent == 8
    assert len(hashed) == 5
