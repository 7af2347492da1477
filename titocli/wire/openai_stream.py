"""A turn as the chunks of a streamed chat completion; pure.

Put together as OpenAI's client does it, the chunks are the message of the whole completion.
"""

from __future__ import annotations

from collections.abc import Iterator

from titocli.jsonvalue import JsonObject, JsonValue
from titocli.session.generation import MessageDelta, ToolCallDelta
from titocli.session.tree import Turn
from titocli.wire.openai_reply import choice_details, usage


class ChatChunks:
    """Makes the chunks of one reply.

    With ``include_usage`` the last chunk has the token counts and no choice, and all others a null usage.
    """

    def __init__(self, *, response_id: str, model: str, created: int, include_usage: bool) -> None:
        self._head: JsonObject = {
            "id": response_id,
            "object": "chat.completion.chunk",
            "created": created,
            "model": model,
        }
        self._include_usage = include_usage
        self._begun = False

    def piece(self, piece: MessageDelta) -> Iterator[JsonObject]:
        """The chunks of a piece of the message; the role comes before the first."""
        yield from self._begin()
        delta: dict[str, JsonValue] = {}
        if piece.reasoning:
            delta["reasoning_content"] = piece.reasoning
        if piece.content:
            delta["content"] = piece.content
        if piece.tool_call is not None:
            delta["tool_calls"] = [_call(piece.tool_call)]
        if delta:
            yield self._chunk({"index": 0, "delta": delta, "logprobs": None, "finish_reason": None})

    def end(self, turn: Turn, log_probs: JsonValue) -> Iterator[JsonObject]:
        """The chunks at the end of a committed turn; its log-probs, where asked for, come here together."""
        yield from self._begin()
        completion = turn.completion
        choice: dict[str, JsonValue] = {
            "index": 0,
            "delta": {},
            "logprobs": log_probs,
            "finish_reason": completion.finish_reason.value,
            **choice_details(completion),
        }
        yield self._chunk(choice)
        if self._include_usage:
            yield {**self._head, "choices": [], "usage": usage(turn)}

    def _begin(self) -> Iterator[JsonObject]:
        if not self._begun:
            self._begun = True
            delta: JsonObject = {"role": "assistant", "content": ""}
            yield self._chunk({"index": 0, "delta": delta, "logprobs": None, "finish_reason": None})

    def _chunk(self, choice: JsonObject) -> JsonObject:
        chunk: dict[str, JsonValue] = {**self._head, "choices": [choice]}
        return {**chunk, "usage": None} if self._include_usage else chunk


def _call(piece: ToolCallDelta) -> JsonObject:
    """A piece of a call: id, type and name in its first piece only, for clients concatenate strings."""
    call: dict[str, JsonValue] = {"index": piece.index}
    function: dict[str, JsonValue] = {"arguments": piece.arguments}
    if piece.name is not None:
        call |= {"id": piece.id, "type": "function"}
        function = {"name": piece.name, **function}
    return {**call, "function": function}


__all__ = ["ChatChunks"]
