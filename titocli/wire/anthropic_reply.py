"""Committed turns as Anthropic messages."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from titocli.errors import EngineBrokeProtocol
from titocli.jsonvalue import JsonObject, JsonValue
from titocli.session.generation import Completion, FinishReason
from titocli.session.tree import Turn
from titocli.wire.anthropic_calls import calls_of, function_of, input_text, wire_id

#: The signature of every thinking block: clients keep a block only with one, and its value says nothing here.
SIGNATURE = "dGl0b2NsaQ=="

_STOP_REASONS = {
    FinishReason.STOP: "end_turn",
    FinishReason.LENGTH: "max_tokens",
    FinishReason.TOOL_CALLS: "tool_use",
}


def message_body(turn: Turn, *, stop_sequences: Sequence[str] = ()) -> dict[str, object]:
    """The body of a Messages reply; ``stop_sequences`` are those that the request asked for.

    Tool input is spelled as it was sampled.  Raises ``EngineBrokeProtocol`` as ``content_blocks`` does.
    """
    completion = turn.completion
    return {
        "id": completion.response_id,
        "type": "message",
        "role": "assistant",
        "model": completion.model,
        "content": content_blocks(completion),
        **stop_of(completion, stop_sequences),
        "usage": usage(turn),
    }


def content_blocks(completion: Completion) -> list[dict[str, object]]:
    """Thinking, text, tool calls, in this order; nothing is a block of its own, nor is whitespace alone.

    Raises ``EngineBrokeProtocol`` for a message that has no such blocks: content that is no text, a call
    without an id or a name.
    """
    message = completion.message
    reasoning, content = _text(message, "reasoning_content"), _text(message, "content")
    blocks: list[dict[str, object]] = []
    if reasoning:
        blocks.append({"type": "thinking", "thinking": reasoning, "signature": SIGNATURE})
    if content.strip():
        blocks.append({"type": "text", "text": content})
    return blocks + [_tool_use(call) for call in calls_of(message)]


def _text(message: JsonObject, member: str) -> str:
    value = message.get(member)
    if value is not None and not isinstance(value, str):
        raise _inexpressible(f"its {member} is no text")
    return value or ""


def _tool_use(call: JsonObject) -> dict[str, object]:
    name, call_id = function_of(call).get("name"), call.get("id")
    if not isinstance(name, str) or not name or not isinstance(call_id, str):
        raise _inexpressible("it has a tool call without an id or a name")
    text = input_text(function_of(call).get("arguments"))
    return {"type": "tool_use", "id": wire_id(call_id), "name": name, "input": msgspec.Raw(text.encode())}


def _inexpressible(why: str) -> EngineBrokeProtocol:
    return EngineBrokeProtocol(
        f"the engine's message cannot be an Anthropic message: {why}",
        hint="nothing was kept; the turn can be asked for again",
    )


def stop_of(completion: Completion, stop_sequences: Sequence[str]) -> dict[str, object]:
    """``stop_reason`` and ``stop_sequence``: the sequence is named only when the client asked for it."""
    matched = completion.matched_stop
    if (
        completion.finish_reason is FinishReason.STOP
        and isinstance(matched, str)
        and matched in stop_sequences
    ):
        return {"stop_reason": "stop_sequence", "stop_sequence": matched}
    return {"stop_reason": _STOP_REASONS[completion.finish_reason], "stop_sequence": None}


def usage(turn: Turn) -> dict[str, JsonValue]:
    """Token counts in Anthropic's words: the prompt is ``input_tokens`` and those read from a cache."""
    cached = turn.completion.cached_tokens or 0
    return {
        "input_tokens": turn.prompt_length - cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": len(turn.completion.ids),
    }


__all__ = ["SIGNATURE", "content_blocks", "message_body", "stop_of", "usage"]
