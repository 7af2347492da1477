"""The strict matcher."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from titocli.session.matching import ROOT_DIGEST, extend_digest, message_digest, prefix_digests


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
    assert message_digest(stored) == message_digest(replayed)


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
    assert message_digest(stored) != message_digest(replayed)


MESSAGES = st.lists(st.fixed_dictionaries({"role": st.sampled_from(["user", "tool"]), "content": st.text()}))


@given(MESSAGES, MESSAGES)
def test_digests_of_prefixes_are_those_of_paths(head: list[Any], tail: list[Any]) -> None:
    digests = list(prefix_digests(ROOT_DIGEST, [*head, *tail]))
    path = extend_digest(ROOT_DIGEST, head)

    assert digests[len(head) :] == list(prefix_digests(path, tail))
    assert len(set(digests)) == len(digests)


@given(st.text(max_size=3), st.text(max_size=3))
def test_text_does_not_move_between_messages(one: str, other: str) -> None:
    split = [{"role": "user", "content": one}, {"role": "user", "content": other}]
    joined = [{"role": "user", "content": one + other}]

    assert extend_digest(ROOT_DIGEST, split) != extend_digest(ROOT_DIGEST, joined)


def test_a_lone_surrogate_and_an_enormous_number_are_hashed() -> None:
    assert message_digest(message(content="\ud800")) != message_digest(message(content="\ud801"))
    assert message_digest(message(tool_calls=[call(arguments=10**40)]))
