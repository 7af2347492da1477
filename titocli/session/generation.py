"""What a session asks of an engine for one turn, and what it gets back."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from titocli.jsonvalue import JsonObject, JsonValue, Message, Tool
from titocli.tokens.ids import TokenIds


class FinishReason(StrEnum):
    """Why a generation ended, in OpenAI's words."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateRequest:
    """One generation: the exact prompt ids, and what the engine needs beside them.

    ``options`` are sampling parameters in OpenAI's spelling (``max_tokens``, ``temperature``, ``stop``,
    ``tool_choice``, ``seed``, SGLang's ``regex``, ...), passed on as the client gave them.
    ``generation_prompt`` is the text at the end of the prompt that opens the assistant turn; a parser reads
    from it whether the completion starts inside a think block.
    """

    request_id: str
    session_id: str
    prompt_ids: TokenIds
    generation_prompt: str
    messages: Sequence[Message]
    tools: Sequence[Tool] = ()
    template_kwargs: Mapping[str, JsonValue] = field(default_factory=dict)
    options: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightVersion:
    """The completion ids ``[start, end)`` were sampled under the weights ``version``."""

    version: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallDelta:
    """A piece of the tool call number ``index``; ``id`` and ``name`` stand in its first piece only."""

    index: int
    id: str | None = None
    name: str | None = None
    arguments: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDelta:
    """A piece of an assistant message while it is generated.

    The pieces of one generation, put together in order, are its ``Completion.message``.
    """

    reasoning: str = ""
    content: str = ""
    tool_call: ToolCallDelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One finished generation.

    ``ids`` are what the engine sampled, a stop token included; ``log_probs`` (float64) has one entry an
    id.  ``message`` is the assistant message in OpenAI's shape: ``content`` is a string, never None;
    ``reasoning_content`` and ``tool_calls`` stand only where there are some.  ``matched_stop`` is the stop
    token id or string that ended it, where the engine tells.  ``parse_attempts`` is what a parser tried, for
    the record.  ``engine_prompt_ids`` are the prompt ids that the engine says it read, where it was asked.
    """

    ids: TokenIds
    log_probs: array[float]
    finish_reason: FinishReason
    message: Message
    response_id: str
    model: str
    cached_tokens: int | None = None
    matched_stop: int | str | None = None
    weight_versions: tuple[WeightVersion, ...] = ()
    parse_attempts: tuple[JsonObject, ...] = ()
    engine_prompt_ids: TokenIds | None = None
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)


__all__ = ["Completion", "FinishReason", "GenerateRequest", "MessageDelta", "ToolCallDelta", "WeightVersion"]
