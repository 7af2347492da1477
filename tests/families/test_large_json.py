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
from titocli.families import json_windows, large_json
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
def window_bytes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Windows of a few bytes: every cut is met."""
    size: int = request.param
    monkeypatch.setattr(json_windows, "WINDOW_BYTES", size)
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
    looked, end_of = list[int](), json_windows.end_of

    def noted(pattern: re.Pattern[bytes], data: bytes, at: int, end: int | None = None) -> int:
        looked.append(at)
        return end_of(pattern, data, at, end)

    monkeypatch.setattr(large_json, "end_of", noted)
    with pytest.raises(RecursionError):
        read_large_json(b'{"messages": ' + b"[" * 100_000)

    assert len(looked) < 20_000


@pytest.mark.parametrize("before", [{}, {"tools": [{"messages": [1, 2]}], "model": '"messages": ['}])
def test_messages_are_read_some_at_a_time(monkeypatch: pytest.MonkeyPatch, before: dict[str, Any]) -> None:
    monkeypatch.setattr(json_windows, "WINDOW_BYTES", 300)
    read = noted_reads(monkeypatch, large_json)
    read_large_json(json.dumps({**before, "messages": [MESSAGE] * 50}).encode())

    one = len(json.dumps(MESSAGE))
    assert 300 < one < 600
    assert len(read) == 51  # each message, for all are longer than a window, and the body without them
    assert max(map(len, read)) <= one + 4


@pytest.mark.parametrize("text", ["plain " * 1000, "é日🙂" * 500, 'a"\\\n' * 1000, "\x01" * 1000])
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("window", [14, 100])
def test_a_long_string_is_read_a_window_at_a_time(
    monkeypatch: pytest.MonkeyPatch, text: str, ascii_only: bool, window: int
) -> None:
    monkeypatch.setattr(json_windows, "WINDOW_BYTES", window)
    around, inside = noted_reads(monkeypatch, large_json), noted_reads(monkeypatch, json_windows)
    body: dict[str, Any] = {"system": text, "messages": [{"content": text, text: [1e5, text]}], "n": 1}
    written = json.dumps(body, ensure_ascii=ascii_only).replace("100000.0", "1e5").encode()

    assert outcome(read_large_json, written) == outcome(read_json, written)
    assert max(map(len, around)) < 400
    assert max(map(len, inside)) <= window + 2


def noted_reads(monkeypatch: pytest.MonkeyPatch, module: Any) -> list[bytes]:
    """The texts that a module reads at once from now on."""
    texts = list[bytes]()

    def noted(text: bytes) -> Any:
        texts.append(text)
        return read_json(text)

    monkeypatch.setattr(module, "read_json", noted)
    return texts


def test_short_messages_are_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_windows, "WINDOW_BYTES", 100)
    read = noted_reads(monkeypatch, large_json)
    read_large_json(json.dumps({"messages": [{"a": 1}] * 50}).encode())

    assert [text.count(b"a") for text in read] == [1, 11, 11, 11, 11, 6]  # the frame's messages are named


@pytest.mark.regression("R12")
def test_other_threads_run_while_a_large_body_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_windows, "WINDOW_BYTES", 1024 * 1024)
    message = {"role": "user", "content": "one word after the other " * 400}
    body = json.dumps({"messages": [message] * 6000}).encode()

    assert min(worst_pause(read_large_json, body) for _ in range(4)) < 0.4
