"""Samples as JSON: one document, or one sample a line.

Arrays are lists of numbers; replay data is base64 of little-endian int32 with its shape.  Numbers keep every
bit: floats are written with as many digits as tell them apart.
"""

from __future__ import annotations

import math
from array import array
from binascii import Error as Base64Error
from binascii import a2b_base64
from dataclasses import dataclass
from typing import Any, NoReturn

import msgspec

from titocli.errors import InvalidSamples
from titocli.jsonvalue import JsonObject, JsonValue
from titocli.session.samples.sample import ReplayRows, SampleStatus
from titocli.wire.base64_text import base64_text
from titocli.wire.sample_document import SampleDocument, SampleRecord, plain, record_meta


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    dtype: str
    shape: tuple[int, int, int]
    base64: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    tokens: list[int]
    response: str
    response_length: int
    status: SampleStatus
    loss_mask: list[int] | None
    rollout_log_probs: list[float] | None
    rollout_routed_experts: _Rows | None
    rollout_indexer_topk: _Rows | None
    weight_versions: list[dict[str, Any]]
    prefix_cache_info: dict[str, Any]
    reward: float | None
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    session_id: str
    samples: list[_Sample]
    empty_reason: str | None
    session_metadata: dict[str, Any]
    session_rollout_metrics: dict[str, Any]


def json_document(document: SampleDocument) -> JsonObject:
    """The document as a JSON object; raises ``InvalidSamples`` for a log-prob that JSON cannot write."""
    return {
        "session_id": document.session_id,
        "samples": [_sample(record) for record in document.samples],
        "empty_reason": document.empty_reason,
        "session_metadata": document.session_metadata,
        "session_rollout_metrics": document.session_rollout_metrics,
    }


def encode_json(document: SampleDocument) -> bytes:
    """The document as one JSON object with one newline at its end."""
    return msgspec.json.encode(json_document(document), enc_hook=plain) + b"\n"


def encode_jsonl(document: SampleDocument) -> bytes:
    """One sample a line; no line where there are none."""
    lines = (msgspec.json.encode(_sample(record), enc_hook=plain) for record in document.samples)
    return b"".join(line + b"\n" for line in lines)


def decode_json(data: bytes) -> SampleDocument:
    """The document that ``encode_json`` wrote; raises ``InvalidSamples``."""
    try:
        read = msgspec.json.decode(data, type=_Document)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        _invalid("the document", error)
    return SampleDocument(
        session_id=read.session_id,
        samples=tuple(_record(sample) for sample in read.samples),
        empty_reason=read.empty_reason,
        session_metadata=read.session_metadata,
        session_rollout_metrics=read.session_rollout_metrics,
    )


def decode_jsonl(data: bytes) -> tuple[SampleRecord, ...]:
    """The samples that ``encode_jsonl`` wrote; raises ``InvalidSamples``, naming the line."""
    records = []
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            records.append(_record(msgspec.json.decode(line, type=_Sample)))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            _invalid(f"line {number}", error)
    return tuple(records)


def _sample(record: SampleRecord) -> dict[str, JsonValue]:
    log_probs = record.rollout_log_probs
    if log_probs is not None and not all(map(math.isfinite, log_probs)):
        raise InvalidSamples(
            "a log-prob is not finite, and JSON cannot write it", hint="ask for safetensors or parquet"
        )
    return {
        "tokens": record.tokens.tolist(),
        "loss_mask": None if record.loss_mask is None else list(record.loss_mask),
        "rollout_log_probs": None if log_probs is None else log_probs.tolist(),
        "rollout_routed_experts": _rows(record.rollout_routed_experts),
        "rollout_indexer_topk": _rows(record.rollout_indexer_topk),
        **record_meta(record),
    }


def _rows(rows: ReplayRows | None) -> JsonValue:
    if rows is None:
        return None
    return {"dtype": "int32", "shape": rows.shape, "base64": base64_text(rows.data)}


def _record(sample: _Sample) -> SampleRecord:
    mask, log_probs = sample.loss_mask, sample.rollout_log_probs
    try:
        return SampleRecord(
            tokens=array("q", sample.tokens),
            response=sample.response,
            response_length=sample.response_length,
            status=sample.status.value,
            loss_mask=None if mask is None else bytes(mask),
            rollout_log_probs=None if log_probs is None else array("d", log_probs),
            rollout_routed_experts=_read_rows(sample.rollout_routed_experts),
            rollout_indexer_topk=_read_rows(sample.rollout_indexer_topk),
            weight_versions=tuple(sample.weight_versions),
            prefix_cache_info=sample.prefix_cache_info,
            reward=sample.reward,
            metadata=sample.metadata,
        )
    except (ValueError, OverflowError) as error:
        _invalid("a sample", error)


def _read_rows(rows: _Rows | None) -> ReplayRows | None:
    if rows is None:
        return None
    if rows.dtype != "int32":
        raise InvalidSamples(f"replay data is {rows.dtype}; expected int32")
    try:
        data = a2b_base64(rows.base64, strict_mode=True)
    except Base64Error as error:
        _invalid("replay data", error)
    return ReplayRows(data=data, rows=rows.shape[0], layers=rows.shape[1], top_k=rows.shape[2])


def _invalid(where: str, error: Exception) -> NoReturn:
    raise InvalidSamples(f"{where} cannot be read as samples: {error}") from error


__all__ = ["decode_json", "decode_jsonl", "encode_json", "encode_jsonl", "json_document"]
