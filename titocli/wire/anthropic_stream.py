"""A turn as Anthropic's stream events, in the order that its clients put together.

``message_start``; for each block ``content_block_start``, deltas, ``content_block_stop``; ``message_delta``;
``message_stop``.  Reasoning and text go out as they come.  The input of a tool call goes out in one piece
when the call is complete, for only then is it known to be an object.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from titocli.errors import EngineBrokeProtocol
from titocli.jsonvalue import JsonValue
from titocli.session.generation import MessageDelta, ToolCallDelta
from titocli.session.tree import Turn
from titocli.wire.anthropic_calls import input_text, wire_id
from titocli.wire.anthropic_reply import SIGNATURE, stop_of, usage


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event; its data has the event's name as ``type``."""

    name: str
    data: dict[str, object]

    def encoded(self) -> bytes:
        """The event on the wire."""
        data = msgspec.json.encode({"type": self.name, **self.data})
        return b"event: " + self.name.encode() + b"\ndata: " + data + b"\n\n"


#: What is sent while nothing comes.
PING = Event("ping", {})


@dataclass(slots=True)
class _Call:
    """A tool call whose pieces are collected."""

    id: str
    name: str
    pieces: list[str] = field(default_factory=list)


class MessageEvents:
    """The events of one message; ``start``, then each piece, then ``end``.

    ``input_tokens`` is the length of the prompt, which is known before anything is generated.
    """

    def __init__(self, *, message_id: str, model: str, input_tokens: int) -> None:
        self._id = message_id
        self._model = model
        self._input_tokens = input_tokens
        self._index = 0
        self._open: str | None = None
        self._held = ""
        self._calls = 0
        self._call: _Call | None = None

    def start(self) -> Event:
        """The message before its first block."""
        usage: dict[str, JsonValue] = {
            "input_tokens": self._input_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 0,
        }
        message: dict[str, object] = {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        return Event("message_start", {"message": message})

    def piece(self, piece: MessageDelta) -> Iterator[Event]:
        """The events of one piece; raises ``EngineBrokeProtocol`` for a piece of a call that has ended."""
        if piece.reasoning:
            yield from self._thinking(piece.reasoning)
        if piece.content:
            yield from self._text(piece.content)
        if piece.tool_call is not None:
            yield from self._tool_call(piece.tool_call)

    def end(self, turn: Turn, stop_sequences: Sequence[str]) -> Iterator[Event]:
        """The last events; ``turn`` is the committed turn."""
        yield from self._close()
        yield Event(
            "message_delta", {"delta": stop_of(turn.completion, stop_sequences), "usage": usage(turn)}
        )
        yield Event("message_stop", {})

    def _thinking(self, text: str) -> Iterator[Event]:
        if self._open != "thinking":
            yield from self._close()
            yield self._start_block({"type": "thinking", "thinking": "", "signature": ""})
        yield self._delta({"type": "thinking_delta", "thinking": text})

    def _text(self, text: str) -> Iterator[Event]:
        # Whitespace alone is no block: it waits for the text that it comes before.
        self._held += text
        if self._open != "text" and not self._held.strip():
            return
        if self._open != "text":
            yield from self._close()
            yield self._start_block({"type": "text", "text": ""})
        yield self._delta({"type": "text_delta", "text": self._held})
        self._held = ""

    def _tool_call(self, piece: ToolCallDelta) -> Iterator[Event]:
        if piece.index == self._calls and piece.id is not None and piece.name is not None:
            yield from self._close()
            self._calls += 1
            self._call = _Call(piece.id, piece.name)
            yield self._start_block(
                {"type": "tool_use", "id": wire_id(piece.id), "name": piece.name, "input": {}}
            )
        if self._call is None or piece.index != self._calls - 1:
            raise EngineBrokeProtocol(
                f"the engine sent a piece of tool call {piece.index} out of order",
                hint="nothing was kept; the turn can be asked for again",
            )
        self._call.pieces.append(piece.arguments)

    def _start_block(self, block: dict[str, object]) -> Event:
        self._open = str(block["type"])
        return Event("content_block_start", {"index": self._index, "content_block": block})

    def _delta(self, delta: dict[str, object]) -> Event:
        return Event("content_block_delta", {"index": self._index, "delta": delta})

    def _close(self) -> Iterator[Event]:
        if self._open == "thinking":
            yield self._delta({"type": "signature_delta", "signature": SIGNATURE})
        if self._call is not None:
            text = input_text("".join(self._call.pieces))
            yield self._delta({"type": "input_json_delta", "partial_json": text})
            self._call = None
        if self._open is not None:
            yield Event("content_block_stop", {"index": self._index})
            self._index += 1
        self._open = None


__all__ = ["PING", "Event", "MessageEvents"]
