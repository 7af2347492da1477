"""Samples as NumPy arrays and torch tensors."""

from __future__ import annotations

import subprocess
import sys
from array import array
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from tests.samples.documents import documents
from titocli.client import Sample, SampleBatch
from titocli.client.arrays import decode, encode
from titocli.errors import IncompleteSamples, InvalidSamples, MissingExtra
from titocli.session.samples.sample import SampleStatus
from titocli.wire import sample_safetensors
from titocli.wire.sample_document import SampleDocument, SampleRecord

EXPERTS = np.arange(12, dtype=np.int32).reshape(2, 3, 2)


def sample(**changes: Any) -> Sample:
    plain = Sample(
        tokens=np.array([1, 2, 2**40], dtype=np.int64),
        response="ab",
        response_length=2,
        status=SampleStatus.COMPLETED,
        loss_mask=np.array([1, 0], dtype=np.uint8),
        rollout_log_probs=np.array([-0.1, 0.0]),
        rollout_routed_experts=EXPERTS,
        metadata={"a": 1},
        reward=0.0,
    )
    return replace(plain, **changes)


def back(**changes: Any) -> Sample:
    return decode(encode(SampleBatch(samples=(sample(**changes),))))[0]


def assert_same(first: Sample, second: Sample) -> None:
    for each in fields(Sample):
        left, right = getattr(first, each.name), getattr(second, each.name)
        if isinstance(left, np.ndarray):
            assert (left.dtype, left.shape) == (right.dtype, right.shape)
            assert np.array_equal(left, right)
        else:
            assert left == right, each.name


def test_what_is_encoded_comes_back_with_dtypes_and_shapes() -> None:
    assert_same(back(), sample())
    assert_same(
        back(loss_mask=None, rollout_log_probs=None, rollout_routed_experts=None),
        sample(loss_mask=None, rollout_log_probs=None, rollout_routed_experts=None),
    )


@settings(deadline=None)
@given(documents())
def test_arrays_lose_nothing_of_a_document(document: SampleDocument) -> None:
    data = sample_safetensors.encode(document)

    assert sample_safetensors.decode(encode(decode(data))) == document


def test_a_batch_is_a_sequence_with_what_is_said_of_all() -> None:
    record = SampleRecord(tokens=array("q", [1]), response="", response_length=0, status="aborted")
    batch = SampleBatch.of(
        SampleDocument(session_id="s", samples=(record, record), session_metadata={"agent": {}})
    )

    assert (len(batch), batch.session_id, batch.session_metadata) == (2, "s", {"agent": {}})
    assert [each.status for each in batch] == [SampleStatus.ABORTED] * 2
    assert batch[1].loss_mask is None


def test_views_that_are_not_contiguous_are_written_by_value() -> None:
    wide = np.arange(48, dtype=np.int32).reshape(4, 3, 4)
    view = wide[::2, :, ::2].transpose(0, 2, 1)
    found = back(rollout_routed_experts=view).rollout_routed_experts

    assert not view.flags.c_contiguous
    assert found is not None
    assert np.array_equal(found, view)
    assert list(back(tokens=np.array([1, 9, 2, 9, 3])[::2]).tokens) == [1, 2, 3]


def test_an_empty_array_is_not_none() -> None:
    found = back(rollout_routed_experts=np.zeros((0, 3, 0), dtype=np.int32)).rollout_routed_experts

    assert found is not None
    assert found.shape == (0, 3, 0)


@pytest.mark.parametrize(
    "changes",
    [
        {"rollout_routed_experts": EXPERTS.astype(np.int16)},
        {"rollout_routed_experts": EXPERTS.astype(np.int64)},
        {"rollout_indexer_topk": EXPERTS[0]},
        {"loss_mask": np.array([1, -1])},
        {"loss_mask": np.array([1, 2])},
        {"loss_mask": np.array([1, 256])},
        {"loss_mask": np.array([0.5, 1.0])},
        {"tokens": np.array([0.5])},
        {"tokens": np.array([np.nan])},
        {"tokens": np.array([2**63], dtype=np.uint64)},
        {"tokens": np.array([[1]])},
        {"rollout_log_probs": np.array([2**53 + 1, 0])},
    ],
)
def test_values_that_would_change_are_refused(changes: Any) -> None:
    with pytest.raises(ValueError, match=r"expected|exactly|0 and 1") as caught:
        encode(SampleBatch(samples=(sample(**changes),)))
    assert isinstance(caught.value, InvalidSamples)


def test_other_dtypes_that_hold_the_same_values_are_accepted() -> None:
    assert_same(
        back(tokens=np.array([1, 2, 2**40], dtype=np.uint64), loss_mask=np.array([True, False])), sample()
    )
    single = np.array([-0.5, 0.0], dtype=np.float32)
    assert_same(back(rollout_log_probs=single), sample(rollout_log_probs=single.astype(np.float64)))


def test_log_probs_keep_every_bit() -> None:
    values = np.array([np.nextafter(-0.1, 0), -np.inf])
    found = back(rollout_log_probs=values).rollout_log_probs

    assert found is not None
    assert found.tobytes() == values.tobytes()


def test_a_document_that_is_not_whole_raises_a_key_error() -> None:
    with pytest.raises(KeyError) as caught:
        decode(b"\x02\0\0\0\0\0\0\0{}")
    assert isinstance(caught.value, IncompleteSamples)
    assert str(caught.value) == "the document has no _samples_meta"


def test_torch_tensors_have_the_same_values_and_memory_of_their_own() -> None:
    numpy_sample = sample()
    tensors = numpy_sample.torch()

    assert tensors.tokens.dtype is torch.int64
    assert tensors.loss_mask.dtype is torch.uint8
    assert tensors.rollout_log_probs.dtype is torch.float64
    assert tensors.rollout_routed_experts.dtype is torch.int32
    assert tensors.rollout_routed_experts.shape == (2, 3, 2)
    assert tensors.rollout_indexer_topk is None
    tensors.tokens[0] = 7
    assert numpy_sample.tokens[0] == 1


def test_decoded_arrays_may_be_written_to() -> None:
    found = back()
    found.tokens[0] = 5

    assert found.tokens[0] == 5


@pytest.mark.parametrize(("module", "extra"), [("numpy", "client"), ("torch", "torch")])
def test_a_missing_library_names_the_extra(module: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(MissingExtra) as caught:
        _ = back() if module == "numpy" else sample().torch()
    assert caught.value.hint == f"pip install 'titocli[{extra}]'"


def test_importing_the_client_loads_nothing_heavy() -> None:
    code = "import sys, titocli.client; print(*(sys.modules.keys() & {'numpy', 'torch', 'pyarrow', 'starlette'}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == []
