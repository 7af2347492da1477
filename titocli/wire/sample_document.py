"""Samples as they travel: what every format encodes and decodes, in plain values."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from titocli.jsonvalue import JsonObject, JsonValue
from titocli.session.samples.assembly import SampleSet
from titocli.session.samples.sample import ReplayRows, Sample

A = TypeVar("A", "array[int]", "array[float]")


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRecord:
    """One sample; None is a field that there is nothing of, which differs from an empty one.

    ``tokens`` are int64.  ``loss_mask`` (one byte a value) and ``rollout_log_probs`` (float64) cover the last
    ``response_length`` tokens.  Spans of ``weight_versions`` count from the first token.
    """

    tokens: array[int]
    response: str
    response_length: int
    status: str
    loss_mask: bytes | None = None
    rollout_log_probs: array[float] | None = None
    rollout_routed_experts: ReplayRows | None = None
    rollout_indexer_topk: ReplayRows | None = None
    weight_versions: tuple[JsonObject, ...] = ()
    prefix_cache_info: JsonObject = field(default_factory=dict)
    reward: float | None = None
    metadata: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleDocument:
    """The samples of one session, with what is said of all of them."""

    session_id: str
    samples: tuple[SampleRecord, ...] = ()
    empty_reason: str | None = None
    session_metadata: JsonObject = field(default_factory=dict)
    session_rollout_metrics: JsonObject = field(default_factory=dict)


def sample_document(session_id: str, made: SampleSet) -> SampleDocument:
    """A session's samples as a document; the metrics are added here, where no hook can change them."""
    return SampleDocument(
        session_id=session_id,
        samples=tuple(_record(sample) for sample in made.samples),
        empty_reason=None if made.empty_reason is None else made.empty_reason.value,
        session_metadata=made.session_metadata,
        session_rollout_metrics={"session_id": session_id, "metrics": made.metrics},
    )


def _record(sample: Sample) -> SampleRecord:
    return SampleRecord(
        tokens=array("q", sample.tokens),
        response=sample.response,
        response_length=sample.response_length,
        status=sample.status.value,
        loss_mask=sample.loss_mask,
        rollout_log_probs=sample.rollout_log_probs,
        rollout_routed_experts=sample.routed_experts,
        rollout_indexer_topk=sample.indexer_topk,
        weight_versions=tuple(
            {"version": span.version, "abs_start": span.start, "abs_end": span.end}
            for span in sample.weight_versions
        ),
        prefix_cache_info={
            "cached_tokens": sample.prefix_cache.cached_tokens,
            "total_prompt_tokens": sample.prefix_cache.total_prompt_tokens,
        },
        reward=sample.reward,
        metadata=sample.metadata,
    )


def record_meta(record: SampleRecord) -> dict[str, JsonValue]:
    """What of a sample is no array, as JSON."""
    return {
        "response": record.response,
        "response_length": record.response_length,
        "status": record.status,
        "weight_versions": list(record.weight_versions),
        "prefix_cache_info": record.prefix_cache_info,
        "metadata": record.metadata,
        "reward": record.reward,
    }


def little_endian(values: array[int] | array[float]) -> bytes:
    """The values' bytes, lowest first whatever the machine."""
    if sys.byteorder == "little":
        return values.tobytes()
    swapped = values[:]
    swapped.byteswap()
    return swapped.tobytes()


def int64s(data: bytes) -> array[int]:
    """The values of little-endian int64."""
    return _native(array("q", data))


def float64s(data: bytes) -> array[float]:
    """The values of little-endian float64."""
    return _native(array("d", data))


def _native(values: A) -> A:
    if sys.byteorder != "little":
        values.byteswap()
    return values


def plain(value: object) -> JsonValue:
    """What msgspec does not know: read-only mappings and arrays."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, array):
        return list(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


__all__ = [
    "SampleDocument",
    "SampleRecord",
    "float64s",
    "int64s",
    "little_endian",
    "plain",
    "record_meta",
    "sample_document",
]
