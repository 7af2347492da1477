"""Samples as one safetensors document: the format of ``POST {base_url}/samples``.

Tensors are named ``<field>.<index of the sample>``.  ``_samples_meta`` is JSON in a rank-1 tensor of bytes:
what is no array, and per sample the fields that are None (``nulls``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import msgspec

from titocli.errors import IncompleteSamples, InvalidSamples
from titocli.jsonvalue import JsonObject, JsonValue
from titocli.session.samples.sample import ReplayRows, SampleStatus
from titocli.wire.safetensors_format import Tensor, pack, unpack
from titocli.wire.sample_document import (
    SampleDocument,
    SampleRecord,
    float64s,
    int64s,
    little_endian,
    plain,
    record_meta,
)

META = "_samples_meta"
#: Every tensor field with its dtype and rank.
TENSOR_FIELDS: tuple[tuple[str, str, int], ...] = (
    ("tokens", "I64", 1),
    ("loss_mask", "U8", 1),
    ("rollout_log_probs", "F64", 1),
    ("rollout_routed_experts", "I32", 3),
    ("rollout_indexer_topk", "I32", 3),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SampleMeta:
    """A sample in the JSON; keys that are not known are ignored."""

    response: str
    response_length: int
    status: SampleStatus
    nulls: list[str]
    weight_versions: list[dict[str, Any]]
    prefix_cache_info: dict[str, Any]
    metadata: dict[str, Any]
    reward: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _DocumentMeta:
    samples: list[dict[str, Any]]
    session_id: str = ""
    session_metadata: dict[str, Any]
    session_rollout_metrics: dict[str, Any] | None = None
    empty_reason: str | None = None


def encode(document: SampleDocument) -> bytes:
    """The document in one piece; raises ``InvalidSamples`` for a mask that holds more than 0 and 1."""
    tensors: dict[str, Tensor] = {}
    metas: list[JsonValue] = []
    for index, record in enumerate(document.samples):
        fields = _tensors(record)
        tensors |= {f"{name}.{index}": tensor for name, tensor in fields.items() if tensor is not None}
        metas.append({**record_meta(record), "nulls": [name for name, t in fields.items() if t is None]})
    text = msgspec.json.encode(_meta(document, metas), enc_hook=plain)
    tensors[META] = Tensor(dtype="U8", shape=(len(text),), data=text)
    return pack(tensors)


def _meta(document: SampleDocument, metas: list[JsonValue]) -> JsonObject:
    return {
        "samples": metas,
        "session_id": document.session_id,
        "session_metadata": document.session_metadata,
        "session_rollout_metrics": document.session_rollout_metrics,
        "empty_reason": document.empty_reason,
    }


def _tensors(record: SampleRecord) -> dict[str, Tensor | None]:
    mask, log_probs = record.loss_mask, record.rollout_log_probs
    if mask and max(mask) > 1:
        raise InvalidSamples("the mask holds something else than 0 and 1")
    return {
        "tokens": Tensor(dtype="I64", shape=(len(record.tokens),), data=little_endian(record.tokens)),
        "loss_mask": None if mask is None else Tensor(dtype="U8", shape=(len(mask),), data=mask),
        "rollout_log_probs": None
        if log_probs is None
        else Tensor(dtype="F64", shape=(len(log_probs),), data=little_endian(log_probs)),
        "rollout_routed_experts": _rows_tensor(record.rollout_routed_experts),
        "rollout_indexer_topk": _rows_tensor(record.rollout_indexer_topk),
    }


def _rows_tensor(rows: ReplayRows | None) -> Tensor | None:
    return None if rows is None else Tensor(dtype="I32", shape=rows.shape, data=rows.data)


def decode(data: bytes) -> SampleDocument:
    """The document that ``encode`` wrote.

    Raises ``IncompleteSamples`` (a ``KeyError``) where the JSON, ``nulls`` or a tensor that it promises is
    missing; ``InvalidSamples`` (a ``ValueError``) for another dtype or shape, and for tensors that belong to
    no sample.
    """
    tensors = unpack(data)
    if META not in tensors:
        raise IncompleteSamples(f"the document has no {META}")
    meta = _decoded_meta(tensors.pop(META))
    records = tuple(_record(index, sample, tensors) for index, sample in enumerate(meta.samples))
    if tensors:
        raise InvalidSamples(f"tensors belong to no sample: {', '.join(sorted(tensors)[:5])}")
    return SampleDocument(
        session_id=meta.session_id,
        samples=records,
        empty_reason=meta.empty_reason,
        session_metadata=meta.session_metadata,
        session_rollout_metrics=meta.session_rollout_metrics or {},
    )


def _decoded_meta(tensor: Tensor) -> _DocumentMeta:
    if tensor.dtype != "U8" or len(tensor.shape) != 1:
        raise InvalidSamples(f"{META} is {tensor.dtype} of rank {len(tensor.shape)}, not bytes")
    try:
        return msgspec.json.decode(tensor.data, type=_DocumentMeta)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        _bad_meta(META, error)


def _record(index: int, raw: Mapping[str, Any], tensors: dict[str, Tensor]) -> SampleRecord:
    if "nulls" not in raw:
        raise IncompleteSamples(f"sample {index} has no nulls")
    try:
        meta = msgspec.convert(raw, type=_SampleMeta)
    except msgspec.MsgspecError as error:
        _bad_meta(f"sample {index}", error)
    fields = {
        name: None if name in meta.nulls else _taken(tensors, f"{name}.{index}", dtype, rank)
        for name, dtype, rank in TENSOR_FIELDS
    }
    return _filled(index, meta, fields)


def _taken(tensors: dict[str, Tensor], name: str, dtype: str, rank: int) -> Tensor:
    if name not in tensors:
        raise IncompleteSamples(f"tensor {name} is promised and missing")
    tensor = tensors.pop(name)
    if tensor.dtype != dtype or len(tensor.shape) != rank:
        raise InvalidSamples(
            f"tensor {name} is {tensor.dtype} of rank {len(tensor.shape)}; expected {dtype} of rank {rank}"
        )
    return tensor


def _filled(index: int, meta: _SampleMeta, fields: Mapping[str, Tensor | None]) -> SampleRecord:
    tokens, mask, log_probs = fields["tokens"], fields["loss_mask"], fields["rollout_log_probs"]
    if tokens is None:
        raise InvalidSamples(f"sample {index} has no tokens")
    for name, tensor in (("loss_mask", mask), ("rollout_log_probs", log_probs)):
        if tensor is not None and tensor.shape != (meta.response_length,):
            raise InvalidSamples(f"{name}.{index} does not cover {meta.response_length} tokens")
    return SampleRecord(
        tokens=int64s(tokens.data),
        response=meta.response,
        response_length=meta.response_length,
        status=meta.status.value,
        loss_mask=None if mask is None else mask.data,
        rollout_log_probs=None if log_probs is None else float64s(log_probs.data),
        rollout_routed_experts=_rows(fields["rollout_routed_experts"]),
        rollout_indexer_topk=_rows(fields["rollout_indexer_topk"]),
        weight_versions=tuple(meta.weight_versions),
        prefix_cache_info=meta.prefix_cache_info,
        reward=meta.reward,
        metadata=meta.metadata,
    )


def _rows(tensor: Tensor | None) -> ReplayRows | None:
    if tensor is None:
        return None
    rows, layers, top_k = tensor.shape
    return ReplayRows(data=tensor.data, rows=rows, layers=layers, top_k=top_k)


def _bad_meta(where: str, error: Exception) -> NoReturn:
    raise InvalidSamples(f"{where} cannot be read: {error}") from error


__all__ = ["META", "TENSOR_FIELDS", "decode", "encode"]
