"""What a trainer gets of one leaf."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from enum import StrEnum

from titocli.jsonvalue import JsonObject
from titocli.tokens.ids import TokenIds

INT32_BYTES = 4


class SampleStatus(StrEnum):
    """How a sample ended.

    ``aborted`` is for whoever collects samples and got none: a server never keeps an aborted turn.
    """

    COMPLETED = "completed"
    TRUNCATED = "truncated"
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRows:
    """Replay data of a sample: little-endian int32 of shape (``rows``, ``layers``, ``top_k``).

    Row i belongs to token i; the last token was never read by the engine and has none.
    """

    data: bytes
    rows: int
    layers: int
    top_k: int

    def __post_init__(self) -> None:
        """Raise ``ValueError`` unless the data has exactly this shape."""
        if len(self.data) != INT32_BYTES * self.rows * self.layers * self.top_k:
            raise ValueError(f"{len(self.data)} bytes are not int32 of shape {self.shape}")

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, layers, values a layer."""
        return (self.rows, self.layers, self.top_k)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightSpan:
    """The tokens ``[start, end)`` of a sample were sampled under the weights ``version``."""

    version: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixCache:
    """Prompt ids of a sample's turns, and how many of them the engine had cached."""

    cached_tokens: int
    total_prompt_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSpan:
    """The tokens ``[start, end)`` of a sample are the completion of the turn ``node_id``.

    ``response_id`` is the ``id`` of the reply that the agent got for it.
    """

    node_id: int
    response_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One leaf as training data.

    ``tokens`` holds every id, prompts and completions.  ``loss_mask`` (0 or 1) and ``rollout_log_probs``
    (float64) cover the last ``response_length`` of them: all that follows the first prompt.  The mask is 1
    only on ids that the engine sampled; log-probs are 0.0 elsewhere.  ``response`` is the text of these ids.
    ``turns`` are the completions in it: fewer than the leaf's path has where a limit cut it.
    Two samples of one leaf never exist; ``leaf`` is the id of its last turn.
    """

    leaf: int
    tokens: TokenIds
    response_length: int
    response: str
    loss_mask: bytes
    rollout_log_probs: array[float]
    status: SampleStatus
    turns: tuple[TurnSpan, ...]
    weight_versions: tuple[WeightSpan, ...]
    prefix_cache: PrefixCache
    metadata: JsonObject
    routed_experts: ReplayRows | None = None
    indexer_topk: ReplayRows | None = None
    reward: float | None = None

    def __post_init__(self) -> None:
        """Raise ``ValueError`` where mask, log-probs and response differ in length."""
        lengths = {self.response_length, len(self.loss_mask), len(self.rollout_log_probs)}
        if len(lengths) != 1 or self.response_length > len(self.tokens):
            raise ValueError(
                f"a response of {self.response_length} tokens with {len(self.loss_mask)} mask values and "
                f"{len(self.rollout_log_probs)} log-probs in {len(self.tokens)} tokens"
            )
        if max(self.loss_mask, default=0) > 1:
            raise ValueError("the mask holds something else than 0 and 1")

    @property
    def first_prompt_length(self) -> int:
        """Ids before the response."""
        return len(self.tokens) - self.response_length


__all__ = [
    "INT32_BYTES",
    "PrefixCache",
    "ReplayRows",
    "Sample",
    "SampleStatus",
    "TurnSpan",
    "WeightSpan",
]
