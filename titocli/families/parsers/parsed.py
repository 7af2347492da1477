"""What a parsed completion is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from titocli.jsonvalue import JsonObject, JsonValue, Message


class AttemptStatus(StrEnum):
    """How an attempt at a tool call ended."""

    OK = "ok"
    #: No closing tag before the next attempt or the end of the completion; stays content.
    UNCLOSED = "unclosed"
    #: Closed, but not what the family's grammar says; stays content.
    MALFORMED = "malformed"
    #: Well-formed, but the name is none of the offered tools; returned as a call, so that the agent can
    #: answer with an error and the rollout goes on.
    UNKNOWN_TOOL = "unknown_tool"

    @property
    def called(self) -> bool:
        """Whether the attempt is returned as a tool call (otherwise its text stays content)."""
        return self in {AttemptStatus.OK, AttemptStatus.UNKNOWN_TOOL}


class ReasoningStatus(StrEnum):
    """Whether a completion has a think block, and whether it was closed."""

    CLOSED = "closed"
    UNCLOSED = "unclosed"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningBlock:
    """The think block: the completion's ids ``[start, end)``, tags included; ``(0, 0)`` when absent."""

    status: ReasoningStatus
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallAttempt:
    """One attempt at a tool call, tags included: the completion's ids ``[start, end)``.

    They are the fewest ids whose bytes cover the attempt.  ``name`` is what could be read of the name.
    """

    status: AttemptStatus
    start: int
    end: int
    name: str | None = None

    def as_json(self) -> JsonObject:
        """The attempt for a record."""
        return {"status": self.status.value, "start": self.start, "end": self.end, "name": self.name}


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedToolCall:
    """A tool call; ``arguments`` is the text of a JSON object."""

    id: str
    name: str
    arguments: str

    def as_json(self) -> JsonObject:
        """The call in OpenAI's shape."""
        function: Mapping[str, JsonValue] = {"name": self.name, "arguments": self.arguments}
        return {"id": self.id, "type": "function", "function": function}


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedCompletion:
    """A completion, read.

    ``content`` is the text outside of the think block and of the tool calls.  ``reasoning_content`` is None
    without a think block and for an empty one.  ``attempts`` has every attempt at a tool call, in order;
    those that are ``called`` are ``tool_calls``.
    """

    content: str
    reasoning_content: str | None
    tool_calls: tuple[ParsedToolCall, ...]
    attempts: tuple[ToolCallAttempt, ...]
    reasoning: ReasoningBlock

    def message(self) -> Message:
        """The assistant message in OpenAI's shape; only ``content`` is there when empty."""
        message: dict[str, JsonValue] = {"role": "assistant", "content": self.content}
        if self.reasoning_content is not None:
            message["reasoning_content"] = self.reasoning_content
        if self.tool_calls:
            message["tool_calls"] = [call.as_json() for call in self.tool_calls]
        return message


__all__ = [
    "AttemptStatus",
    "ParsedCompletion",
    "ParsedToolCall",
    "ReasoningBlock",
    "ReasoningStatus",
    "ToolCallAttempt",
]
