"""Committed turns as Anthropic messages, whole and in events, and what a client replays of them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.generated_count import generated_count
from tests.wire.strategies import Accumulator, arguments, assistants, pieces_of, replayed_blocks, turn_of
from titocli.errors import EngineBrokeProtocol
from titocli.families.registry import get_family
from titocli.session.generation import FinishReason, MessageDelta, ToolCallDelta
from titocli.session.tree import Turn
from titocli.wire.anthropic_calls import input_text, same_input, wire_id
from titocli.wire.anthropic_replay import as_stored
from titocli.wire.anthropic_reply import message_body
from titocli.wire.anthropic_request import messages_request
from titocli.wire.anthropic_stream import MessageEvents

EXAMPLES = settings(max_examples=generated_count(), deadline=None)
QWEN = get_family("qwen3")


def told(turn: Turn, *stops: str) -> Any:
    return json.loads(msgspec.json.encode(message_body(turn, stop_sequences=stops)))


def streamed(turn: Turn, pieces: list[MessageDelta], *stops: str) -> Accumulator:
    client = Accumulator()
    events = MessageEvents(message_id="chatcmpl-1", model="served", input_tokens=turn.prompt_length)
    client.take(events.start().encoded())
    for piece in pieces:
        for event in events.piece(piece):
            client.take(event.encoded())
    for event in events.end(turn, stops):
        client.take(event.encoded())
    return client


def calling(*texts: str, call_id: str = "toolu_{}") -> dict[str, Any]:
    calls = [
        {"id": call_id.format(at), "type": "function", "function": {"name": "f", "arguments": text}}
        for at, text in enumerate(texts)
    ]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def replay(turn: Turn, blocks: list[Any]) -> list[Any]:
    """The messages of a request that goes on after ``blocks``, as the session reads them."""
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": "r"}
        for block in blocks
        if block["type"] == "tool_use"
    ]
    said: list[Any] = [
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": [*results, {"type": "text", "text": "go on"}]},
    ]
    asked = messages_request({"max_tokens": 1, "messages": said}, QWEN)
    return as_stored(list(asked.turn.messages), [turn])  # type: ignore[arg-type] # a request's messages are any JSON


@EXAMPLES
@given(assistants())
def test_a_reply_that_a_client_writes_anew_is_the_stored_message(message: dict[str, Any]) -> None:
    turn = turn_of(message)
    _, replayed, *results, _ = replay(turn, replayed_blocks(told(turn)["content"]))

    assert replayed is message
    assert [result["tool_call_id"] for result in results] == [
        call["id"] for call in message.get("tool_calls", ())
    ]


@EXAMPLES
@given(st.data())
def test_a_stream_put_together_is_the_whole_reply(data: st.DataObject) -> None:
    message = data.draw(assistants())
    turn = turn_of(message)
    client = streamed(turn, data.draw(pieces_of(message)))

    assert client.message == told(turn)
    assert (client.names[0], client.names[-1]) == ("message_start", "message_stop")


@EXAMPLES
@given(arguments)
def test_input_is_always_an_object_and_is_recognised_when_it_comes_back(text: str) -> None:
    spelled = input_text(text)
    value = json.loads(spelled)

    assert isinstance(value, dict)
    assert same_input(text, json.loads(json.dumps(value, indent=1)))
    assert not same_input(text, {**value, "another": 1})


@pytest.mark.parametrize(
    ("stored", "replayed", "same"),
    [
        ('{"n": 1e2}', {"n": 100}, True),
        ('{"n": 9007199254740993}', {"n": 9007199254740992}, True),  # a client that has doubles alone
        (f'{{"n": {10**400}}}', {"n": 10**400}, True),  # beyond doubles
        (f'{{"n": {10**400}}}', {"n": 10**400 + 1}, False),
        ('{"n": 1}', {"n": True}, False),
        ('{"n": 0}', {"n": False}, False),
        ('{"n": 1}', {"n": "1"}, False),
        ('{"n": [1, 2]}', {"n": [2, 1]}, False),
        ('{"n": null}', {}, False),
        ('{"a": 1, "a": 2}', {"a": 2}, True),
        ('{"a": 1, "a": 2}', {"a": 1}, False),
        ({"n": 1}, {"n": 1}, True),
        (None, {}, True),
        ("[1]", {"arguments": "[1]"}, True),
        ("[1]", {"arguments": "[2]"}, False),
    ],
)
def test_input_is_compared_by_value(stored: Any, replayed: Any, same: bool) -> None:
    assert same_input(stored, replayed) is same


@pytest.mark.case("c05")
@pytest.mark.parametrize("nothing", ["", "{}", " ", "{ }"])
def test_a_call_without_arguments_has_an_empty_object_for_input(nothing: str) -> None:
    turn = turn_of(calling(nothing))
    pieces = [MessageDelta(tool_call=ToolCallDelta(index=0, id="toolu_0", name="f", arguments=nothing))]
    client = streamed(turn, pieces)

    assert told(turn)["content"] == [{"type": "tool_use", "id": "toolu_0", "name": "f", "input": {}}]
    assert client.message is not None
    assert client.message["content"] == told(turn)["content"]


@pytest.mark.case("c05")
@pytest.mark.parametrize("text", ["[1, 2]", "3", '{"a":', "null", '{"a": NaN}', '{"a": 1e999}'])
def test_arguments_that_are_no_object_are_one_member(text: str) -> None:
    (block,) = told(turn_of(calling(text)))["content"]

    assert block["input"] == {"arguments": text}


def test_input_is_spelled_as_it_was_sampled() -> None:
    encoded = msgspec.json.encode(message_body(turn_of(calling('{"b":1e2,  "a": 1.0}'))))

    assert b'"input":{"b":1e2,  "a": 1.0}' in encoded


@pytest.mark.case("c06")
@pytest.mark.parametrize(
    ("finish", "matched", "reason", "sequence"),
    [
        (FinishReason.STOP, "##", "stop_sequence", "##"),
        (FinishReason.STOP, 258, "end_turn", None),
        (FinishReason.STOP, None, "end_turn", None),
        (FinishReason.STOP, "<|im_end|>", "end_turn", None),  # the engine's own, not the request's
        (FinishReason.LENGTH, None, "max_tokens", None),
        (FinishReason.TOOL_CALLS, None, "tool_use", None),
    ],
)
def test_the_stop_reason_says_why(
    finish: FinishReason, matched: Any, reason: str, sequence: str | None
) -> None:
    said = {"role": "assistant", "content": "x"}
    turn = turn_of(said, finish_reason=finish, matched_stop=matched)
    client = streamed(turn, [MessageDelta(content="x")], "##")

    assert client.message is not None
    for message in (told(turn, "##"), client.message):
        assert (message["stop_reason"], message["stop_sequence"]) == (reason, sequence)


def test_usage_tells_cached_tokens_apart_from_the_others() -> None:
    said = {"role": "assistant", "content": "x"}

    assert told(turn_of(said, cached_tokens=4))["usage"] == {
        "input_tokens": 6,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 4,
        "output_tokens": 3,
    }
    assert told(turn_of(said))["usage"]["input_tokens"] == 10


def test_blocks_are_thinking_text_and_calls_and_none_is_empty() -> None:
    message = {**calling("{}"), "content": "said", "reasoning_content": "thought"}

    assert [block["type"] for block in told(turn_of(message))["content"]] == ["thinking", "text", "tool_use"]
    assert told(turn_of(message))["content"][0]["signature"]
    assert told(turn_of({"role": "assistant", "content": "\n\n"}))["content"] == []


def test_whitespace_waits_for_the_text_behind_it() -> None:
    message = {"role": "assistant", "content": "\n\nx \n"}
    client = streamed(turn_of(message), [MessageDelta(content=part) for part in ("\n", "\n", "x", " \n")])

    assert client.message is not None
    assert client.message["content"] == [{"type": "text", "text": "\n\nx \n"}]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": [{"type": "text", "text": "x"}]},
        {"role": "assistant", "content": "", "reasoning_content": 5},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "a", "function": {}}]},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f"}}]},
    ],
)
def test_a_message_that_has_no_blocks_is_the_engines_fault(message: dict[str, Any]) -> None:
    with pytest.raises(EngineBrokeProtocol, match="cannot be an Anthropic message"):
        message_body(turn_of(message))


def test_pieces_of_a_call_that_has_ended_are_the_engines_fault() -> None:
    events = MessageEvents(message_id="m", model="m", input_tokens=1)
    first, second = (ToolCallDelta(index=at, id=f"c{at}", name="f") for at in (0, 1))
    for piece in (first, second):
        list(events.piece(MessageDelta(tool_call=piece)))

    with pytest.raises(EngineBrokeProtocol, match="out of order"):
        list(events.piece(MessageDelta(tool_call=ToolCallDelta(index=0, arguments="{}"))))


@pytest.mark.case("c15")
def test_ids_are_of_the_wires_alphabet_and_stay_apart() -> None:
    ids = ["call_1", "functions.f:0", "functions.f:1", "functions_f_0", "é" * 80, "x" * 65, "x" * 66]
    made = [wire_id(one) for one in ids]

    assert made[0] == "call_1"
    assert len(set(made)) == len(ids)
    assert all(
        len(one) <= 64 and one.isascii() and one.replace("_", "").replace("-", "").isalnum() for one in made
    )


def test_ids_that_were_made_for_the_wire_are_the_models_again() -> None:
    turn = turn_of(calling("{}", call_id="functions.f:{}"))
    _, assistant, result, _ = replay(turn, told(turn)["content"])

    assert assistant["tool_calls"][0]["id"] == "functions.f:0"
    assert result["tool_call_id"] == "functions.f:0"


def test_a_call_that_was_never_stored_has_its_input_as_text_in_its_order() -> None:
    turn = turn_of({"role": "assistant", "content": "other"})
    (_, assistant, *_) = replay(
        turn, [{"type": "tool_use", "id": "toolu_9", "name": "f", "input": {"b": "é", "a": 1.0}}]
    )

    assert assistant["tool_calls"] == [
        {"id": "toolu_9", "type": "function", "function": {"name": "f", "arguments": '{"b": "é", "a": 1.0}'}}
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"name": "g"},
        {"id": "toolu_9"},
        {"input": {"a": 2}},
    ],
)
def test_another_call_is_not_the_stored_one(change: dict[str, Any]) -> None:
    stored = calling('{"a":1}')
    turn = turn_of(stored)
    (block,) = told(turn)["content"]
    _, assistant, *_ = replay(turn, [{**block, **change}])

    assert assistant is not stored
    assert assistant["tool_calls"][0]["function"]["arguments"] != '{"a":1}'


@pytest.mark.parametrize("change", [{"content": "other"}, {"reasoning_content": "other"}])
def test_another_text_or_thought_is_not_the_stored_one(change: dict[str, Any]) -> None:
    stored = {**calling('{"a":1}'), "content": "said", "reasoning_content": "thought"}
    blocks = told(turn_of({**stored, **change}))["content"]

    assert replay(turn_of(stored), blocks)[1] is not stored


def test_a_stored_message_at_another_place_is_not_taken() -> None:
    turn = turn_of(calling('{"a":1}'))
    (block,) = told(turn)["content"]
    said: list[Any] = [
        {"role": "user", "content": "u"},
        {"role": "user", "content": "v"},
        {"role": "assistant", "content": [block]},
        {"role": "user", "content": "w"},
    ]
    asked = messages_request({"max_tokens": 1, "messages": said}, QWEN)
    messages = as_stored(list(asked.turn.messages), [turn])  # type: ignore[arg-type] # a request's messages are any JSON

    assert messages[2]["tool_calls"][0]["function"]["arguments"] == '{"a": 1}'  # type: ignore[index,call-overload] # JSON


def test_the_latest_of_equal_messages_is_taken() -> None:
    first, second = calling('{"a":1}'), calling('{"a": 1}')
    turns = [turn_of(first), turn_of(second)]
    blocks = told(turns[0])["content"]
    said: list[Any] = [
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": "v"},
    ]
    asked = messages_request({"max_tokens": 1, "messages": said}, QWEN)

    assert as_stored(list(asked.turn.messages), turns)[1] is second  # type: ignore[arg-type] # a request's messages are any JSON


def test_thoughts_that_were_streamed_in_two_blocks_are_the_stored_reasoning() -> None:
    stored = {"role": "assistant", "content": "x", "reasoning_content": "onetwo"}
    turn = turn_of(stored)
    pieces = [MessageDelta(reasoning="one"), MessageDelta(content="x"), MessageDelta(reasoning="two")]
    client = streamed(turn, pieces)

    assert client.message is not None
    assert [block["type"] for block in client.message["content"]] == ["thinking", "text", "thinking"]
    assert replay(turn, client.message["content"])[1] is stored


def test_a_message_of_a_later_turn_is_found_at_its_place() -> None:
    stored = calling('{"a":1}')
    turn = replace(turn_of(stored), id=1, parent=0, message_count=4)
    said: list[Any] = [
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "first"},
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": told(turn)["content"]},
        {"role": "user", "content": "v"},
    ]
    asked = messages_request({"max_tokens": 1, "messages": said}, QWEN)

    assert as_stored(list(asked.turn.messages), [turn])[3] is stored  # type: ignore[arg-type] # a request's messages are any JSON


def test_a_message_with_fewer_calls_is_not_the_stored_one() -> None:
    stored = calling("{}", "{}")
    turn = turn_of(stored)
    _, assistant, *_ = replay(turn, told(turn)["content"][:1])

    assert len(assistant["tool_calls"]) == 1


def test_a_call_that_a_client_edited_keeps_the_models_id() -> None:
    turn = turn_of(calling('{"a":1}', call_id="functions.f:{}"))
    (block,) = told(turn)["content"]
    _, assistant, *_ = replay(turn, [{**block, "input": {"a": 2}}])

    assert assistant["tool_calls"][0]["id"] == "functions.f:0"
    assert assistant["tool_calls"][0]["function"]["arguments"] == '{"a": 2}'
