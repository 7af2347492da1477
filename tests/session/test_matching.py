"""Matchers: what each takes for the same message, and functions of the user's."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from titocli.errors import InvalidMessages, InvalidOption, UnknownName
from titocli.session.canonical import MAX_DEPTH, canonical_arguments, canonical_json
from titocli.session.history import HistoryPolicy
from titocli.session.matching import (
    BUILT_IN,
    LOOSE_TOOL_CALL,
    ROLE_CONTENT_ONLY,
    STRICT,
    HashedMatcher,
    MatcherContract,
    PredicateMatcher,
    find_matcher,
)
from titocli.session.session import Session

from .conftest import Transcript, assistant, renderer_of, snapshot, user


def call(**function: Any) -> dict[str, Any]:
    return {"id": "a", "type": "function", "function": {"name": "f", **function}}


def message(**more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": "x", **more}


@pytest.mark.parametrize(
    ("stored", "replayed"),
    [
        (message(content=""), message(content=None)),
        (message(tool_calls=[]), message()),
        (message(reasoning_content=None), message(reasoning_content="")),
        (message(refusal=None, annotations=[], audio=None), message()),
        (message(tool_calls=[call()]), message(tool_calls=[{**call(), "index": 7}])),
        (
            message(tool_calls=[call(arguments={"a": 1, "b": 2})]),
            message(tool_calls=[call(arguments={"b": 2, "a": 1})]),
        ),
    ],
)
def test_the_same_message(stored: Any, replayed: Any) -> None:
    assert STRICT.digest(stored) == STRICT.digest(replayed)


@pytest.mark.parametrize(
    ("stored", "replayed"),
    [
        (message(content="hi"), message(content="hi\n")),
        (message(content="hi"), message(content=[{"type": "text", "text": "hi"}])),
        (message(), message(role="user")),
        (message(reasoning_content="r"), message()),
        (message(tool_calls=[call(arguments='{"a":1}')]), message(tool_calls=[call(arguments='{"a": 1}')])),
        (message(tool_calls=[call(arguments={"v": True})]), message(tool_calls=[call(arguments={"v": 1})])),
        (message(tool_calls=[call(arguments={"v": 1})]), message(tool_calls=[call(arguments={"v": 1.0})])),
        (message(tool_calls=[call(arguments="")]), message(tool_calls=[call(arguments=None)])),
        (message(tool_calls=[call()]), message(tool_calls=[{**call(), "id": "b"}])),
        (
            {"role": "tool", "content": "4", "tool_call_id": "a"},
            {"role": "tool", "content": "4", "tool_call_id": "b"},
        ),
        (message(name="ann"), message(name="bob")),
    ],
)
def test_another_message(stored: Any, replayed: Any) -> None:
    assert STRICT.digest(stored) != STRICT.digest(replayed)


def test_a_lone_surrogate_and_an_enormous_number_are_hashed() -> None:
    assert STRICT.digest(message(content="\ud800")) != STRICT.digest(message(content="\ud801"))
    assert STRICT.digest(message(tool_calls=[call(arguments=10**40)]))
    assert LOOSE_TOOL_CALL.digest(message(tool_calls=[call(arguments='{"a": "\\ud800"}')]))


def nested(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


def test_what_is_nested_too_deeply_is_refused_and_as_text_compared_as_it_is() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(InvalidMessages):
        STRICT.digest(message(content=[deep]))

    assert canonical_arguments(nested(MAX_DEPTH)) == canonical_arguments(nested(MAX_DEPTH).replace(":", ": "))
    for levels in (MAX_DEPTH + 1, 10_000):
        assert canonical_arguments(nested(levels)) is None
        same, spaced = (
            LOOSE_TOOL_CALL.digest(message(tool_calls=[call(arguments=text)]))
            for text in (nested(levels), nested(levels).replace(":", ": "))
        )
        assert same != spaced
    while isinstance(deep, dict):  # freed level by level, for freeing recurses too
        deep = deep.pop("a")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=3), JSON, max_size=4)


@given(OBJECTS)
def test_arguments_have_one_spelling_as_text_as_object_and_reordered(value: dict[str, Any]) -> None:
    again = dict(reversed(value.items()))
    spellings: list[Any] = [value, again, json.dumps(value), json.dumps(again, indent=1, ensure_ascii=False)]

    assert len({canonical_arguments(spelling) for spelling in spellings}) == 1


@given(OBJECTS, OBJECTS)
def test_other_arguments_have_another_spelling(one: dict[str, Any], other: dict[str, Any]) -> None:
    same = exact(one) == exact(other)

    assert (canonical_arguments(one) == canonical_arguments(other)) is same


def exact(value: Any) -> Any:
    """The value with numbers as fractions and all else beside its type."""
    if isinstance(value, dict):
        return {key: exact(item) for key, item in value.items()}
    if isinstance(value, list):
        return [exact(item) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Fraction(repr(value))
    return (type(value), value)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('{"n": 1e0}', '{"n": 1.00}', True),
        ('{"n": 100}', '{"n": 1e2}', True),
        ('{"n": -0.0}', '{"n": 0}', True),
        ('{"n": 0.1}', '{"n": 0.10000000000000001}', False),
        (
            '{"n": 12345678901234567890123456789012345678901}',
            '{"n": 1.2345678901234567890123456789012345678901e40}',
            True,
        ),
        ('{"n": 1e999999}', '{"n": 10e999998}', True),
        ('{"n": ["n", "1e0"]}', '{"n": 1}', False),
        ('{"n": ["l", 1]}', '{"n": [1]}', False),
        ('{"n": "1"}', '{"n": 1}', False),
        ('{"\\u0061": "\\u00e9"}', '{"a": "é"}', True),
    ],
)
def test_numbers_are_exact_decimals_and_nothing_else_is_a_number(one: str, other: str, same: bool) -> None:
    assert (canonical_arguments(one) == canonical_arguments(other)) is same


@pytest.mark.parametrize(
    "arguments", ["[1]", "3", '{"a":', '{"a":1,"a":1}', '{"a":NaN}', '{"a":Infinity}', " ", [1], 3, "{}{}"]
)
def test_what_is_no_object_has_no_canonical_form(arguments: Any) -> None:
    assert canonical_arguments(arguments) is None


def test_a_raw_text_is_never_taken_for_an_object() -> None:
    canonical = canonical_arguments({"a": "x"})
    assert canonical is not None
    raw = message(tool_calls=[call(arguments=["object", canonical.decode()])])

    assert LOOSE_TOOL_CALL.digest(raw) != LOOSE_TOOL_CALL.digest(
        message(tool_calls=[call(arguments={"a": "x"})])
    )


@given(JSON, JSON)
def test_canonical_json_tells_types_apart(one: Any, other: Any) -> None:
    assert (canonical_json(one) == canonical_json(other)) is (
        json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    )


def test_the_built_in_matchers_are_found_by_name() -> None:
    assert [find_matcher(matcher.name) for matcher in BUILT_IN] == [
        STRICT,
        LOOSE_TOOL_CALL,
        ROLE_CONTENT_ONLY,
    ]
    with pytest.raises(UnknownName) as refused:
        find_matcher("loose_tool_cal")
    assert "loose_tool_call" in str(refused.value.hint)


def same_content(stored: Any, replayed: Any) -> bool:
    return bool(stored["content"] == replayed["content"])


async def too_late(stored: Any, replayed: Any) -> bool:
    return True


class TooLate:
    async def __call__(self, *messages: Any) -> bool:
        return not messages


too_late_too = TooLate()
no_function = 3


@pytest.mark.parametrize("path", [f"{__name__}.same_content", f"{__name__}:same_content"])
def test_a_dotted_path_names_a_function(path: str) -> None:
    matcher = find_matcher(path)

    assert isinstance(matcher, PredicateMatcher)
    assert (matcher.name, matcher.predicate) == (path, same_content)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (f"{__name__}.too_late", "asynchronous"),
        (f"{__name__}.too_late_too", "asynchronous"),
        (f"{__name__}.no_function", "not callable"),
        (f"{__name__}.missing", "has no 'missing'"),
        ("no_such_module.matcher", "ModuleNotFoundError"),
        (".matcher", "not a dotted path"),
        ("matcher.", "not a dotted path"),
        ("module:", "not a dotted path"),
    ],
)
def test_what_names_no_synchronous_function_is_refused_at_start_up(path: str, said: str) -> None:
    with pytest.raises(InvalidOption) as refused:
        find_matcher(path)

    assert said in refused.value.message
    assert refused.value.details == {"option": "message matcher", "path": path}


@pytest.mark.parametrize(
    ("predicate", "said"),
    [
        (lambda *_: 1, "returned int"),
        (lambda *messages: messages[0]["no"], "raised KeyError"),
    ],
)
def test_a_function_that_does_not_answer_is_neither_match_nor_mismatch(predicate: Any, said: str) -> None:
    session = Session(
        renderer_of("qwen3"), HistoryPolicy.TREE, matcher=PredicateMatcher("mine.match", predicate)
    )
    transcript = Transcript(session)
    transcript.turn([user("u")], assistant("a"))
    before = snapshot(session)

    with pytest.raises(MatcherContract) as broken:
        transcript.plan([user("u"), assistant("a"), user("v")])

    assert said in broken.value.message
    assert (broken.value.http_status, broken.value.code) == (500, "matcher_contract")
    assert snapshot(session) == before


@pytest.mark.parametrize("policy", list(HistoryPolicy))
def test_a_function_decides_and_the_stored_spelling_stays(policy: HistoryPolicy) -> None:
    def any_case(stored: Any, replayed: Any) -> bool:
        return bool(stored["content"].lower() == replayed["content"].lower())

    matcher = PredicateMatcher("case", any_case)
    transcript = Transcript(Session(renderer_of("qwen3"), policy, matcher=matcher))
    transcript.turn([user("hello")], assistant("Hi"))
    transcript.turn([user("HELLO"), assistant("HI"), user("more")], assistant("Yes"))
    plan = transcript.plan([user("Hello"), assistant("hi"), user("More"), assistant("yes"), user("on")])

    assert plan.parent == 1
    assert plan.messages == (user("hello"), assistant("Hi"), user("more"), assistant("Yes"), user("on"))


def test_a_function_and_a_hash_attach_alike() -> None:
    hashed, asked = (
        Transcript(Session(renderer_of("qwen3"), HistoryPolicy.TREE, matcher=matcher))
        for matcher in (STRICT, PredicateMatcher("equal", lambda stored, replayed: stored == replayed))
    )
    chance = random.Random(3)
    conversations: list[list[Any]] = [[]]
    for number in range(300):
        messages = [*chance.choice(conversations[-12:]), user(f"u{chance.randrange(2)}")]
        reply = assistant(f"a{chance.randrange(2)}")
        one, other = (each.turn(messages, reply).parent for each in (hashed, asked))
        assert one == other, number
        conversations.append([*messages, reply])


def test_one_message_is_hashed_once_whatever_the_number_of_turns() -> None:
    hashed: list[Any] = []

    def seen(replayed: Any) -> Any:
        hashed.append(replayed["content"])
        return STRICT.seen(replayed)

    transcript = Transcript(
        Session(renderer_of("qwen3"), HistoryPolicy.TREE, matcher=HashedMatcher("counting", seen))
    )
    messages = [user("0")]
    for number in range(5):
        transcript.turn(messages, assistant(f"a{number}"))
        messages = [*messages, assistant(f"a{number}"), user(f"{number + 1}")]
    hashed.clear()
    plan = transcript.plan(messages)
    assert hashed == [each["content"] for each in messages]  # the request, and nothing that is stored

    hashed.clear()
    transcript.commit(plan, transcript.completion(assistant("end")))
    assert hashed == ["5", "end"]
