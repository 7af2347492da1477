"""A body read in pieces is the body read at once, and its errors are the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.pauses import worst_pause
from titocli.families import large_json
from titocli.families.client_json import read_json, spelled
from titocli.families.json_text import to_json
from titocli.families.large_json import read_large_json

TEXTS = st.text(st.sampled_from('ab"\\[]{},: é\ud83d\n0'), max_size=12)
VALUES: st.SearchStrategy[Any] = st.one_of(
    TEXTS, st.sampled_from([None, True, -0.0, 1e5, 7, [], {}, [[1, {"a": "]"}]]])
)
MESSAGES = st.lists(
    st.dictionaries(st.sampled_from(["role", "content", "messages", "}"]), VALUES), max_size=6
)
FIELDS = st.dictionaries(
    st.sampled_from(["model", "messages", "tools", 'a"messages"']), st.one_of(VALUES, MESSAGES)
)
BODIES = st.builds(
    lambda fields, ascii_only, indent: json.dumps(fields, ensure_ascii=ascii_only, indent=indent).encode(
        "utf-8", "surrogatepass"
    ),
    st.one_of(FIELDS, MESSAGES.map(lambda messages: {"messages": messages, "n": 1})),
    st.booleans(),
    st.sampled_from([None, 1]),
)


def outcome(read: Callable[[bytes], Any], body: bytes) -> str:
    """The value as text, numbers as they were spelled, or what was raised."""
    try:
        return to_json(spelled(read(body)), ensure_ascii=True)
    except (ValueError, RecursionError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.fixture(params=[4, 9, 30], autouse=True)
def piece_bytes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Windows and pieces of a few bytes: every cut is met."""
    size: int = request.param
    monkeypatch.setattr(large_json, "PIECE_BYTES", size)
    return size


@given(BODIES)
@example(b'{"messages": [{"a": 1e5}, {"b": -0}, {"c": 1.10}], "x": {"y": 1E2}}')
@example(b'{"messages": [{"a": "\\\\"}, {"b": "\\""}, {"c": "]"}]}')
def test_the_value_is_that_of_reading_at_once(body: bytes) -> None:
    assert outcome(read_large_json, body) == outcome(read_json, body)


@given(BODIES, st.integers(0, 10**6), st.sampled_from(list(b'"\\[]{},: 0\xff')))
def test_so_are_the_errors_of_a_damaged_body(body: bytes, place: int, byte: int) -> None:
    damaged = bytearray(body)
    damaged[place % len(body)] = byte

    assert outcome(read_large_json, bytes(damaged)) == outcome(read_json, bytes(damaged))
    assert outcome(read_large_json, body[: place % len(body)]) == outcome(
        read_json, body[: place % len(body)]
    )


@pytest.mark.parametrize(
    "body",
    [
        b'{"messages": [{"a": 1}, {"b": 2},]}',
        b'{"messages": [{"a": 1},, {"b": 2}]}',
        b'{"messages": [{"a": 1} {"b": 2}]}',
        b'{"messages": [{"a": 1}, {"b": 2}], "messages": [{"c": 3}, {"d": 4}]}',
        b'{"messages": [{"a": 1}, {"b": 2}], "messages": 3}',
        b'{"m\\u0065ssages": [{"a": 1}, {"b": 2}]}',
        b'{"x": {"messages": [{"a": 1}, {"b": 2}]}}',
        b'[{"messages": [{"a": 1}, {"b": 2}]}]',
        b'{"messages": [{"a": 1}, {"b": 2}]',
        b'{"messages": [{"a": 1}, {"b": 2}]}}',
        b'{"messages": [1, "x", {"a": 1}, [2], {"b": 2}, null]}',
        b'{"messages": ' + b"[" * 5000,
    ],
)
def test_so_is_every_odd_body(body: bytes) -> None:
    assert outcome(read_large_json, body) == outcome(read_json, body)


MESSAGE: dict[str, Any] = {
    "role": "assistant",
    "content": 'say "hi" \\ {[ ' * 12,
    "tool_calls": [{"function": {"name": "f", "arguments": '{"a": ["]}"]}'}}, {"messages": [{}, {}]}],
}


def test_what_is_too_deep_is_not_looked_at_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    looked, end_of = list[int](), large_json._end_of

    def noted(pattern: re.Pattern[bytes], data: bytes, at: int) -> int:
        looked.append(at)
        return end_of(pattern, data, at)

    monkeypatch.setattr(large_json, "_end_of", noted)
    with pytest.raises(RecursionError):
        read_large_json(b'{"messages": ' + b"[" * 100_000)

    assert len(looked) < 20_000


@pytest.mark.parametrize("before", [{}, {"tools": [{"messages": [1, 2]}], "model": '"messages": ['}])
def test_messages_are_read_some_at_a_time(
    monkeypatch: pytest.MonkeyPatch, piece_bytes: int, before: dict[str, Any]
) -> None:
    read = list[int]()

    def noted(text: bytes) -> Any:
        read.append(len(text))
        return read_json(text)

    monkeypatch.setattr(large_json, "read_json", noted)
    read_large_json(json.dumps({**before, "messages": [MESSAGE] * 50}).encode())

    one = len(json.dumps(MESSAGE))
    assert len(read) == 51  # each message, for all are longer than a piece, and the body without them
    assert max(read) <= one + 4


def test_short_messages_are_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[Any]()

    def noted(text: bytes) -> Any:
        read.append(read_json(text))
        return read[-1]

    monkeypatch.setattr(large_json, "PIECE_BYTES", 100)
    monkeypatch.setattr(large_json, "read_json", noted)
    read_large_json(json.dumps({"messages": [{"a": 1}] * 50}).encode())

    assert [len(run) for run in read[1:]] == [11, 11, 11, 11, 6]


@pytest.mark.regression("R12")
def test_other_threads_run_while_a_large_body_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_json, "PIECE_BYTES", 1024 * 1024)
    body = json.dumps(
        {"messages": [{"role": "user", "content": "one word after the other " * 400}] * 6000}
    ).encode()

    assert min(worst_pause(read_large_json, body) for _ in range(4)) < 0.4
