"""Turns as engines make them, and what a client of Anthropic's makes of a reply."""

from __future__ import annotations

import json
from array import array
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from titocli.session.arguments import TurnArguments
from titocli.session.generation import Completion, FinishReason, MessageDelta, ToolCallDelta
from titocli.session.tree import Turn
from titocli.tokens.ids import token_ids

Message = dict[str, Any]

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_SPACE = st.sampled_from(["", "\n", " \n\n"])
_NUMBER = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
_VALUE = st.recursive(
    st.one_of(st.none(), st.booleans(), _NUMBER, _TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_TEXT, inner, max_size=3)),
    max_leaves=5,
)


def _spelled(value: Any, indent: int | None, ascii_only: bool) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=ascii_only)


#: Argument text as models write it: any spelling of an object, or something that is none.
arguments = st.one_of(
    st.builds(
        _spelled, st.dictionaries(_TEXT, _VALUE, max_size=4), st.sampled_from([None, 2]), st.booleans()
    ),
    st.sampled_from(['{"a":1e2,"b":-0.0}', '{"a": 1.50}', '{"a":1,"a":2}', '{"a":12345678901234567890123}']),
    st.sampled_from(["", " ", "null", "[1]", '{"a":', '{"a": NaN}', '{"a": 1e999}', "say so"]),
)
ids = st.one_of(
    st.from_regex(r"call_[0-9a-f]{24}", fullmatch=True), st.builds("functions.f:{}".format, st.integers(0, 9))
)


@st.composite
def assistants(draw: st.DrawFn) -> Message:
    """An assistant message as an engine commits it; its content is text, its calls have ids of their own."""
    message: Message = {"role": "assistant", "content": draw(_SPACE) + draw(_TEXT)}
    if reasoning := draw(_TEXT):
        message["reasoning_content"] = reasoning
    if names := draw(st.lists(ids, max_size=3, unique=True)):
        message["tool_calls"] = [
            {"id": name, "type": "function", "function": {"name": "f", "arguments": draw(arguments)}}
            for name in names
        ]
    return message


def turn_of(message: Message, *, prompt: Message | None = None, **more: Any) -> Turn:
    """A root turn that answers a user with ``message``."""
    called = FinishReason.TOOL_CALLS if message.get("tool_calls") else FinishReason.STOP
    completion: dict[str, Any] = {
        "ids": token_ids([1, 2, 3]),
        "log_probs": array("d", [0.0] * 3),
        "finish_reason": called,
        "message": message,
        "response_id": "chatcmpl-1",
        "model": "served",
    }
    return Turn(
        id=0,
        parent=None,
        messages=(prompt or {"role": "user", "content": "u"}, message),
        message_count=2,
        trim=0,
        prompt_delta=token_ids([7] * 10),
        prompt_length=10,
        completion=Completion(**{**completion, **more}),
        arguments=TurnArguments(template_kwargs={}, tools=(), options={}),
        requested_at=0.0,
        committed_at=0.0,
    )


@st.composite
def pieces_of(draw: st.DrawFn, message: Message) -> list[MessageDelta]:
    """The message cut anywhere, in the order in which engines stream."""
    pieces = [MessageDelta(reasoning=part) for part in draw(_cut(message.get("reasoning_content", "")))]
    pieces += [MessageDelta(content=part) for part in draw(_cut(message["content"]))]
    for index, call in enumerate(message.get("tool_calls", ())):
        first, *rest = draw(_cut(call["function"]["arguments"])) or [""]
        pieces.append(
            MessageDelta(
                tool_call=ToolCallDelta(
                    index=index, id=call["id"], name=call["function"]["name"], arguments=first
                )
            )
        )
        pieces += [MessageDelta(tool_call=ToolCallDelta(index=index, arguments=part)) for part in rest]
    return pieces


@st.composite
def _cut(draw: st.DrawFn, text: str) -> list[str]:
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=3)))
    bounds = [0, *cuts, len(text)]
    return [text[start:end] for start, end in pairwise(bounds)] if text else []


def replayed_blocks(blocks: list[Message]) -> list[Message]:
    """Content blocks as a client sends them back: tool input parsed and written anew, keys in another order."""
    return [
        {**block, "input": dict(sorted(block["input"].items()))} if block["type"] == "tool_use" else block
        for block in json.loads(json.dumps(blocks))
    ]


class Accumulator:
    """A client that puts a stream together, and insists on the order of its events."""

    def __init__(self) -> None:
        self.message: Message | None = None
        self.names: list[str] = []
        self._json = ""
        self._open: int | None = None

    def take(self, raw: bytes) -> None:
        name, data = raw.decode().removesuffix("\n\n").split("\ndata: ", 1)
        event = json.loads(data)
        assert name == f"event: {event['type']}"
        self.names.append(event["type"])
        getattr(self, f"_{event['type']}")(event)

    def _message_start(self, event: Message) -> None:
        assert self.message is None
        self.message = event["message"]

    def _content_block_start(self, event: Message) -> None:
        assert self.message is not None
        assert self._open is None
        assert event["index"] == len(self.message["content"])
        self._open, self._json = event["index"], ""
        self.message["content"].append(event["content_block"])

    def _content_block_delta(self, event: Message) -> None:
        assert self.message is not None
        assert event["index"] == self._open
        block, delta = self.message["content"][self._open], event["delta"]
        match delta["type"]:
            case "text_delta":
                block["text"] += delta["text"]
            case "thinking_delta":
                block["thinking"] += delta["thinking"]
            case "signature_delta":
                block["signature"] = delta["signature"]
            case "input_json_delta":
                assert block["input"] == {}
                self._json += delta["partial_json"]
            case other:
                raise AssertionError(other)

    def _content_block_stop(self, event: Message) -> None:
        assert self.message is not None
        assert event["index"] == self._open
        block = self.message["content"][self._open]
        if block["type"] == "tool_use":
            block["input"] = json.loads(self._json)
        self._open = None

    def _message_delta(self, event: Message) -> None:
        assert self.message is not None
        assert self._open is None
        self.message.update(event["delta"])
        self.message["usage"] = event["usage"]

    def _message_stop(self, _: Message) -> None:
        assert self.names[-2] == "message_delta"


__all__ = ["Accumulator", "arguments", "assistants", "pieces_of", "replayed_blocks", "turn_of"]
