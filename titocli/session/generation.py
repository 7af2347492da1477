"""What a session asks of an engine for one turn, and what it gets back."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from titocli.errors import InvalidOption
from titocli.jsonvalue import JsonObject, JsonValue, Message, Tool
from titocli.tokens.ids import TokenIds


class FinishReason(StrEnum):
    """Why a generation ended, in OpenAI's words."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"


class ReplayKind(StrEnum):
    """Per-token data of a generation that a trainer replays; SGLang's names."""

    ROUTED_EXPERTS = "routed_experts"
    INDEXER_TOPK = "indexer_topk"


class ReplayMode(StrEnum):
    """Which rows of replay data each turn asks for.

    ``additional``: those after what the turns before it cover, so that the payloads of a session grow with
    its tokens.  ``full``: the whole sequence on every turn, needed where an engine computes old rows anew
    (a weight update that retracts requests).  Only routed experts have a start; the indexer's data is full.
    """

    ADDITIONAL = "additional"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOutputs:
    """The replay data that a session asks its engine for.

    ``layers`` is the number of layers in a row of routed experts, which the engine does not tell; the
    experts a layer (top-k) follow from a payload's size.
    """

    kinds: frozenset[ReplayKind] = frozenset()
    mode: ReplayMode = ReplayMode.ADDITIONAL
    layers: int | None = None

    def __post_init__(self) -> None:
        """Raise ``InvalidOption`` for routed experts without a number of layers."""
        if ReplayKind.ROUTED_EXPERTS in self.kinds and (self.layers is None or self.layers < 1):
            raise InvalidOption(
                "replaying routed experts needs the model's number of layers",
                hint="the number of hidden layers in the model's config.json",
            )

    def start(self, checkpoint_length: int) -> int | None:
        """The first row to ask for after a checkpoint of so many ids; None for the whole sequence.

        An id's row comes from reading it, so the last id of a checkpoint has none yet.
        """
        return max(0, checkpoint_length - 1) if self.mode is ReplayMode.ADDITIONAL else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    """The replay data that one generation asks for, and its first row (None: the whole sequence)."""

    outputs: ReplayOutputs
    start: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPayload:
    """Replay data of one generation as the engine sent it: little-endian int32, decoded from base64.

    ``start`` is the first row as the request gave it, None where it gave none.  ``layers`` is the number of
    layers of each row.
    """

    data: bytes
    start: int | None
    layers: int


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
    replay: ReplayRequest | None = None


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
    ``top_log_probs`` has the engine's alternatives of each id in OpenAI's shape, where it was asked.
    ``replay`` holds the replay data that was asked for and that the engine sent.
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
    top_log_probs: tuple[JsonValue, ...] = ()
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    replay: Mapping[ReplayKind, ReplayPayload] = field(default_factory=dict)


__all__ = [
    "Completion",
    "FinishReason",
    "GenerateRequest",
    "MessageDelta",
    "ReplayKind",
    "ReplayMode",
    "ReplayOutputs",
    "ReplayPayload",
    "ReplayRequest",
    "ToolCallDelta",
    "WeightVersion",
]
