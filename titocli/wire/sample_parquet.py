"""Samples as Parquet: one row a sample, one column a field (``titocli[parquet]``).

Objects are columns of JSON text.  What is said of all samples stands in the file's metadata under
``titocli``, as JSON.
"""

from __future__ import annotations

from array import array
from types import ModuleType
from typing import Any

import msgspec

from titocli.errors import InvalidSamples, MissingExtra
from titocli.jsonvalue import JsonValue
from titocli.session.samples.sample import ReplayRows
from titocli.wire.sample_document import SampleDocument, SampleRecord, plain

_KEY = b"titocli"


def encode_parquet(document: SampleDocument) -> bytes:
    """The document as a Parquet file; raises ``MissingExtra`` without pyarrow."""
    pyarrow, parquet = _pyarrow()
    rest = {
        "session_id": document.session_id,
        "empty_reason": document.empty_reason,
        "session_metadata": document.session_metadata,
        "session_rollout_metrics": document.session_rollout_metrics,
    }
    schema = _schema(pyarrow).with_metadata({_KEY: msgspec.json.encode(rest, enc_hook=plain)})
    table = pyarrow.Table.from_pylist([_row(record) for record in document.samples], schema=schema)
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(table, sink)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def decode_parquet(data: bytes) -> SampleDocument:
    """The document that ``encode_parquet`` wrote; raises ``MissingExtra`` and ``InvalidSamples``."""
    pyarrow, parquet = _pyarrow()
    try:
        table = parquet.read_table(pyarrow.BufferReader(data))
        rest = msgspec.json.decode(table.schema.metadata[_KEY], type=dict[str, Any])
        records = tuple(_record(row) for row in table.to_pylist())
    except (pyarrow.ArrowException, msgspec.MsgspecError, LookupError, TypeError, ValueError) as error:
        raise InvalidSamples(f"this Parquet file does not hold samples: {error}") from error
    return SampleDocument(
        session_id=rest["session_id"],
        samples=records,
        empty_reason=rest["empty_reason"],
        session_metadata=rest["session_metadata"],
        session_rollout_metrics=rest["session_rollout_metrics"],
    )


def _pyarrow() -> tuple[ModuleType, ModuleType]:
    try:
        import pyarrow  # noqa: PLC0415 - an extra, and slow to import
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtra(
            "Parquet needs pyarrow", hint="pip install 'titocli[parquet]', or take another format"
        ) from error
    return pyarrow, parquet


def _schema(pyarrow: Any) -> Any:  # pyarrow ships no types
    return pyarrow.schema(
        [
            pyarrow.field("tokens", pyarrow.list_(pyarrow.int64()), nullable=False),
            ("response", pyarrow.string()),
            ("response_length", pyarrow.int64()),
            ("status", pyarrow.string()),
            ("loss_mask", pyarrow.list_(pyarrow.uint8())),
            ("rollout_log_probs", pyarrow.list_(pyarrow.float64())),
            ("rollout_routed_experts", pyarrow.binary()),
            ("rollout_routed_experts_shape", pyarrow.list_(pyarrow.int64())),
            ("rollout_indexer_topk", pyarrow.binary()),
            ("rollout_indexer_topk_shape", pyarrow.list_(pyarrow.int64())),
            ("reward", pyarrow.float64()),
            ("weight_versions", pyarrow.string()),
            ("prefix_cache_info", pyarrow.string()),
            ("metadata", pyarrow.string()),
        ]
    )


def _row(record: SampleRecord) -> dict[str, object]:
    experts, indexer = record.rollout_routed_experts, record.rollout_indexer_topk
    return {
        "tokens": record.tokens.tolist(),
        "response": record.response,
        "response_length": record.response_length,
        "status": record.status,
        "loss_mask": None if record.loss_mask is None else list(record.loss_mask),
        "rollout_log_probs": None if record.rollout_log_probs is None else record.rollout_log_probs.tolist(),
        "rollout_routed_experts": None if experts is None else experts.data,
        "rollout_routed_experts_shape": None if experts is None else experts.shape,
        "rollout_indexer_topk": None if indexer is None else indexer.data,
        "rollout_indexer_topk_shape": None if indexer is None else indexer.shape,
        "reward": record.reward,
        "weight_versions": _text(list(record.weight_versions)),
        "prefix_cache_info": _text(record.prefix_cache_info),
        "metadata": _text(record.metadata),
    }


def _text(value: JsonValue) -> str:
    return msgspec.json.encode(value, enc_hook=plain).decode()


def _record(row: dict[str, Any]) -> SampleRecord:
    mask, log_probs = row["loss_mask"], row["rollout_log_probs"]
    return SampleRecord(
        tokens=array("q", row["tokens"]),
        response=row["response"],
        response_length=row["response_length"],
        status=row["status"],
        loss_mask=None if mask is None else bytes(mask),
        rollout_log_probs=None if log_probs is None else array("d", log_probs),
        rollout_routed_experts=_rows(row, "rollout_routed_experts"),
        rollout_indexer_topk=_rows(row, "rollout_indexer_topk"),
        weight_versions=tuple(msgspec.json.decode(row["weight_versions"])),
        prefix_cache_info=msgspec.json.decode(row["prefix_cache_info"]),
        reward=row["reward"],
        metadata=msgspec.json.decode(row["metadata"]),
    )


def _rows(row: dict[str, Any], name: str) -> ReplayRows | None:
    if row[name] is None:
        return None
    rows, layers, top_k = row[f"{name}_shape"]
    return ReplayRows(data=row[name], rows=rows, layers=layers, top_k=top_k)


__all__ = ["decode_parquet", "encode_parquet"]
