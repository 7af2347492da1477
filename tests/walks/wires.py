"""One conversation in two wire formats, whole and streamed: how it is asked, and what the client has of a reply.

A conversation is a list of messages in OpenAI's shape.  Anthropic's is made of it here, by the rules of
docs/anthropic.md and not with the server's own code.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any

import httpx

from titocli.wire.anthropic_calls import wire_id

Message = dict[str, Any]
PARAMETERS: Any = {"type": "object"}


@dataclass(frozen=True)
class Wire:
    """A format, whole or streamed."""

    anthropic: bool
    streamed: bool

    def __str__(self) -> str:
        return f"{'anthropic' if self.anthropic else 'openai'}{' stream' if self.streamed else ''}"

    @property
    def path(self) -> str:
        return "/v1/messages" if self.anthropic else "/v1/chat/completions"

    def body(
        self, messages: list[Message], *, seed: int, with_tools: bool, chance: random.Random
    ) -> dict[str, Any]:
        common: dict[str, Any] = {"model": "walk", "max_tokens": 50, "seed": seed, "stream": self.streamed}
        if self.anthropic:
            tools = [{"name": "f", "input_schema": PARAMETERS}]
            body = {**common, **anthropic_conversation(messages, chance)}
        else:
            tools = [{"type": "function", "function": {"name": "f", "parameters": PARAMETERS}}]
            body = {**common, "messages": messages}
        return {**body, "tools": tools} if with_tools else body

    def heard(self, message: Message) -> Any:
        """What a client has of a stored assistant message."""
        if self.anthropic:
            return assistant_blocks(message)
        return message

    def read(self, response: httpx.Response) -> Answer:
        """What a response says."""
        if response.headers["content-type"].startswith("text/event-stream"):
            return _anthropic_events(response.text) if self.anthropic else _openai_events(response.text)
        body = response.json()
        if response.status_code != 200:
            return Answer(status=response.status_code, code=body["error"]["code"])
        if self.anthropic:
            return Answer(status=200, message=body["content"])
        return Answer(status=200, message=body["choices"][0]["message"])


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A reply in its wire's shape, or the code of an error."""

    status: int
    code: str | None = None
    message: Any = None


WIRES = tuple(Wire(anthropic, streamed) for anthropic in (False, True) for streamed in (False, True))


def fits_anthropic(messages: list[Message]) -> bool:
    """Whether the other format has words for a conversation."""
    inner_system = any(message["role"] == "system" for message in messages[1:])
    return not inner_system and messages[-1]["role"] != "assistant"


def anthropic_conversation(messages: list[Message], chance: random.Random) -> dict[str, Any]:
    """``system`` and ``messages``; results and a text after them are one message or two."""
    made: list[Message] = []
    for message in messages:
        if message["role"] == "system":
            continue
        if message["role"] == "assistant":
            made.append({"role": "assistant", "content": assistant_blocks(message)})
            continue
        block = _user_block(message)
        results = bool(made) and made[-1]["role"] == "user" and made[-1]["content"][-1]["type"] != "text"
        if results and (message["role"] == "tool" or chance.random() < 0.5):
            made[-1]["content"].append(block)
        else:
            made.append({"role": "user", "content": [block]})
    for message in made:
        text = message["content"][0].get("text")
        if message["role"] == "user" and text is not None and chance.random() < 0.5:
            message["content"] = text
    system = [message["content"] for message in messages if message["role"] == "system"]
    return {"messages": made, **({"system": system[0]} if system else {})}


def _user_block(message: Message) -> Message:
    if message["role"] == "tool":
        asked = wire_id(message["tool_call_id"])
        return {"type": "tool_result", "tool_use_id": asked, "content": message["content"]}
    return {"type": "text", "text": message["content"]}


def assistant_blocks(message: Message) -> list[Message]:
    """Thinking, text that is not blank, calls with their input as an object."""
    blocks: list[Message] = []
    if reasoning := message.get("reasoning_content"):
        blocks.append({"type": "thinking", "thinking": reasoning, "signature": "dGl0b2NsaQ=="})
    if (message["content"] or "").strip():
        blocks.append({"type": "text", "text": message["content"]})
    for call in message.get("tool_calls") or []:
        own = call["function"]
        value = json.loads(own["arguments"])
        blocks.append({"type": "tool_use", "id": wire_id(call["id"]), "name": own["name"], "input": value})
    return blocks


def meaning(message: Message) -> Message:
    """A message without what spelling and clients add to it."""
    seen = {name: message[name] for name in ("role", "content", "reasoning_content") if message.get(name)}
    if message["role"] == "tool":
        seen["tool_call_id"] = message["tool_call_id"]
    if calls := message.get("tool_calls"):
        seen["tool_calls"] = [
            (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
            for call in calls
        ]
    return seen


def _data(text: str) -> list[Any]:
    lines = [line[6:] for line in text.split("\n") if line.startswith("data: ")]
    return [None if line == "[DONE]" else json.loads(line) for line in lines]


def _openai_events(text: str) -> Answer:
    chunks = _data(text)
    if failed := [chunk["error"]["code"] for chunk in chunks if chunk is not None and "error" in chunk]:
        assert chunks[-1] is not None
        return Answer(status=200, code=failed[0])
    assert chunks[-1] is None
    message: Message = {"role": "assistant", "content": ""}
    for chunk in chunks[:-1]:
        _add(message, chunk["choices"][0]["delta"])
    assert chunks[-2]["choices"][0]["finish_reason"]
    return Answer(status=200, message=message)


def _add(message: Message, delta: Message) -> None:
    for name in ("content", "reasoning_content"):
        if delta.get(name):
            message[name] = message.get(name, "") + delta[name]
    for piece in delta.get("tool_calls", []):
        calls = message.setdefault("tool_calls", [])
        if piece["index"] == len(calls):
            calls.append({name: value for name, value in piece.items() if name != "index"})
        else:
            calls[piece["index"]]["function"]["arguments"] += piece["function"]["arguments"]


def _anthropic_events(text: str) -> Answer:
    events = [event for event in _data(text) if event["type"] != "ping"]
    if events[-1]["type"] == "error":
        return Answer(status=200, code=events[-1]["error"]["code"])
    assert events[0]["type"] == "message_start"
    assert events[-1]["type"] == "message_stop"
    blocks: list[Message] = []
    inputs: dict[int, str] = {}
    for event in events[1:-2]:
        if event["type"] == "content_block_start":
            assert event["index"] == len(blocks)
            blocks.append(dict(event["content_block"]))
        elif event["type"] == "content_block_delta":
            _add_block(blocks[event["index"]], inputs, event)
    for index, spelled in inputs.items():
        blocks[index]["input"] = json.loads(spelled)
    return Answer(status=200, message=blocks)


def _add_block(block: Message, inputs: dict[int, str], event: Message) -> None:
    delta, index = event["delta"], event["index"]
    kind = delta["type"].removesuffix("_delta")
    if kind == "input_json":
        inputs[index] = inputs.get(index, "") + delta["partial_json"]
    else:
        block[kind] += delta[kind]


__all__ = ["WIRES", "Answer", "Wire", "fits_anthropic", "meaning"]
