"""The pieces of a generation: put together into a message, and made from a finished one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from titocli.jsonvalue import JsonObject, JsonValue, Message
from titocli.session.generation import Completion, MessageDelta, ToolCallDelta


@dataclass(slots=True)
class _Call:
    """A tool call that grows."""

    id: str
    name: str
    arguments: list[str] = field(default_factory=list)

    def as_json(self) -> JsonObject:
        function: JsonObject = {"name": self.name, "arguments": "".join(self.arguments)}
        return {"id": self.id, "type": "function", "function": function}


class MessageAssembly:
    """Puts the pieces of one generation together.

    The message is what a client has that puts the same pieces together, so its replay is the stored message.
    """

    def __init__(self) -> None:
        self._reasoning: list[str] = []
        self._content: list[str] = []
        self._calls: list[_Call] = []

    @property
    def call_count(self) -> int:
        """How many tool calls have begun."""
        return len(self._calls)

    def add(self, piece: MessageDelta) -> None:
        """Take in the next piece; raises ``ValueError`` for a piece of a call that has not begun."""
        self._reasoning.append(piece.reasoning)
        self._content.append(piece.content)
        if piece.tool_call is not None:
            self._add_call(piece.tool_call)

    def _add_call(self, piece: ToolCallDelta) -> None:
        if piece.index == len(self._calls) and piece.id is not None and piece.name is not None:
            self._calls.append(_Call(piece.id, piece.name))
        if not 0 <= piece.index < len(self._calls):
            raise ValueError(f"a piece of tool call {piece.index}, which has not begun")
        self._calls[piece.index].arguments.append(piece.arguments)

    def message(self) -> Message:
        """The assistant message so far, in OpenAI's shape; only ``content`` is there when empty."""
        message: dict[str, JsonValue] = {"role": "assistant", "content": "".join(self._content)}
        if reasoning := "".join(self._reasoning):
            message["reasoning_content"] = reasoning
        if self._calls:
            message["tool_calls"] = [call.as_json() for call in self._calls]
        return message


def replayed(completion: Completion) -> Iterator[MessageDelta | Completion]:
    """A finished completion as a stream: reasoning, content, each tool call, then the completion itself."""
    message = completion.message
    if reasoning := message.get("reasoning_content"):
        yield MessageDelta(reasoning=str(reasoning))
    if content := message.get("content"):
        yield MessageDelta(content=str(content))
    calls = message.get("tool_calls")
    for index, call in enumerate(calls if isinstance(calls, list | tuple) else ()):
        yield MessageDelta(tool_call=_whole_call(index, call))
    yield completion


def _whole_call(index: int, call: Mapping[str, JsonValue]) -> ToolCallDelta:
    function = call["function"]
    assert isinstance(function, Mapping)  # noqa: S101 - engines write OpenAI's shape
    return ToolCallDelta(
        index=index, id=str(call["id"]), name=str(function["name"]), arguments=str(function["arguments"])
    )


__all__ = ["MessageAssembly", "replayed"]
