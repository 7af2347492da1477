"""Samples as NumPy arrays, and from these as torch tensors.

NumPy (``titocli[client]``) and torch are imported when they are first needed.
"""

from __future__ import annotations

import importlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from titocli.errors import InvalidSamples, MissingExtra
from titocli.jsonvalue import JsonObject
from titocli.session.samples.sample import ReplayRows, SampleStatus
from titocli.wire import sample_safetensors
from titocli.wire.sample_document import SampleDocument, SampleRecord, little_endian

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchSample:
    """The arrays of a sample as torch tensors with memory of their own, of the same dtypes and shapes."""

    tokens: Any
    loss_mask: Any
    rollout_log_probs: Any
    rollout_routed_experts: Any
    rollout_indexer_topk: Any


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """One leaf of a session.

    ``tokens``: int64 of shape (n,).  ``loss_mask`` (uint8) and ``rollout_log_probs`` (float64) have shape
    (response_length,) and cover the last tokens.  ``rollout_routed_experts`` and ``rollout_indexer_topk``:
    int32 of shape (n - 1, layers, top-k), or None.  ``weight_versions`` are
    ``{"version", "abs_start", "abs_end"}``, counted from the first token.
    """

    tokens: NDArray[np.int64]
    response: str
    response_length: int
    status: SampleStatus
    loss_mask: NDArray[np.uint8] | None = None
    rollout_log_probs: NDArray[np.float64] | None = None
    rollout_routed_experts: NDArray[np.int32] | None = None
    rollout_indexer_topk: NDArray[np.int32] | None = None
    weight_versions: tuple[JsonObject, ...] = ()
    prefix_cache_info: JsonObject = field(default_factory=dict)
    reward: float | None = None
    metadata: JsonObject = field(default_factory=dict)

    def torch(self) -> TorchSample:
        """The arrays as torch tensors; raises ``MissingExtra`` without torch."""
        torch = _module("torch", "torch")

        def tensor(values: NDArray[Any] | None) -> Any:
            return None if values is None else torch.from_numpy(values.copy())

        return TorchSample(
            tokens=tensor(self.tokens),
            loss_mask=tensor(self.loss_mask),
            rollout_log_probs=tensor(self.rollout_log_probs),
            rollout_routed_experts=tensor(self.rollout_routed_experts),
            rollout_indexer_topk=tensor(self.rollout_indexer_topk),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampleBatch:
    """The samples of a session.

    Without samples ``empty_reason`` is ``no_records`` (nothing was generated) or ``all_truncated`` (the
    length limit or a hook left nothing).
    """

    session_id: str = ""
    samples: tuple[Sample, ...] = ()
    empty_reason: str | None = None
    session_metadata: JsonObject = field(default_factory=dict)
    session_rollout_metrics: JsonObject = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.samples)

    def __getitem__(self, index: int) -> Sample:
        return self.samples[index]

    @classmethod
    def of(cls, document: SampleDocument) -> SampleBatch:
        """A decoded document as arrays; raises ``MissingExtra`` without NumPy."""
        numpy = _module("numpy", "client")
        return cls(
            session_id=document.session_id,
            samples=tuple(_sample(numpy, record) for record in document.samples),
            empty_reason=document.empty_reason,
            session_metadata=document.session_metadata,
            session_rollout_metrics=document.session_rollout_metrics,
        )


def decode(data: bytes) -> SampleBatch:
    """Samples from safetensors bytes; raises ``IncompleteSamples`` and ``InvalidSamples``."""
    return SampleBatch.of(sample_safetensors.decode(data))


def encode(batch: SampleBatch) -> bytes:
    """Samples as safetensors bytes.

    Raises ``InvalidSamples`` for values that the dtype of the format cannot hold, and for replay data that is
    not int32 (another type of integers is a mistake somewhere, not a spelling).
    """
    return sample_safetensors.encode(
        SampleDocument(
            session_id=batch.session_id,
            samples=tuple(_record(sample) for sample in batch.samples),
            empty_reason=batch.empty_reason,
            session_metadata=batch.session_metadata,
            session_rollout_metrics=batch.session_rollout_metrics,
        )
    )


def _sample(numpy: Any, record: SampleRecord) -> Sample:
    log_probs = record.rollout_log_probs
    return Sample(
        tokens=_values(numpy, "<i8", little_endian(record.tokens)),
        response=record.response,
        response_length=record.response_length,
        status=SampleStatus(record.status),
        loss_mask=None if record.loss_mask is None else _values(numpy, "u1", record.loss_mask),
        rollout_log_probs=None if log_probs is None else _values(numpy, "<f8", little_endian(log_probs)),
        rollout_routed_experts=_rows(numpy, record.rollout_routed_experts),
        rollout_indexer_topk=_rows(numpy, record.rollout_indexer_topk),
        weight_versions=record.weight_versions,
        prefix_cache_info=record.prefix_cache_info,
        reward=record.reward,
        metadata=record.metadata,
    )


def _values(numpy: Any, dtype: str, data: bytes) -> Any:
    # A copy: what is made of bytes alone is read-only.
    return numpy.frombuffer(data, dtype=dtype).copy()


def _rows(numpy: Any, rows: ReplayRows | None) -> Any:
    return None if rows is None else _values(numpy, "<i4", rows.data).reshape(rows.shape)


def _record(sample: Sample) -> SampleRecord:
    numpy = _module("numpy", "client")
    mask, log_probs = sample.loss_mask, sample.rollout_log_probs
    tokens = _exact(numpy, "tokens", sample.tokens, "<i8").tobytes()
    return SampleRecord(
        tokens=array("q", tokens),
        response=sample.response,
        response_length=sample.response_length,
        status=sample.status.value,
        loss_mask=None if mask is None else _exact(numpy, "loss_mask", mask, "u1").tobytes(),
        rollout_log_probs=None
        if log_probs is None
        else array("d", _exact(numpy, "rollout_log_probs", log_probs, "<f8").tobytes()),
        rollout_routed_experts=_replay_rows(numpy, "rollout_routed_experts", sample.rollout_routed_experts),
        rollout_indexer_topk=_replay_rows(numpy, "rollout_indexer_topk", sample.rollout_indexer_topk),
        weight_versions=sample.weight_versions,
        prefix_cache_info=sample.prefix_cache_info,
        reward=sample.reward,
        metadata=sample.metadata,
    )


def _exact(numpy: Any, name: str, values: Any, dtype: str) -> Any:
    """The values in another dtype; raises ``InvalidSamples`` where one of them would change."""
    given = numpy.asarray(values)
    if given.ndim != 1:
        _invalid(f"{name} has {given.ndim} dimensions; expected 1")
    with numpy.errstate(invalid="ignore"):
        converted = given.astype(dtype)
        back = converted.astype(given.dtype)
    # A value beyond the sign bit comes back as itself, and is another number on the way.
    sign_kept = numpy.array_equal(converted < 0, given < 0)
    if not sign_kept or not numpy.array_equal(back, given, equal_nan=given.dtype.kind == "f"):
        _invalid(f"{name} holds values that {numpy.dtype(dtype).name} cannot hold exactly")
    return converted


def _replay_rows(numpy: Any, name: str, values: Any) -> ReplayRows | None:
    if values is None:
        return None
    given = numpy.asarray(values)
    if given.dtype != numpy.dtype("int32") or given.ndim != len(("rows", "layers", "top_k")):
        _invalid(f"{name} is {given.dtype} with {given.ndim} dimensions; expected int32 with 3")
    rows, layers, top_k = given.shape
    # tobytes() writes in row-major order, also what is a view of something else.
    return ReplayRows(data=given.astype("<i4").tobytes(), rows=rows, layers=layers, top_k=top_k)


def _module(name: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingExtra(
            f"{name} is not installed", hint=f"pip install 'titocli[{extra}]'", details={"module": name}
        ) from error


def _invalid(message: str) -> NoReturn:
    raise InvalidSamples(message)


__all__ = ["Sample", "SampleBatch", "TorchSample", "decode", "encode"]
