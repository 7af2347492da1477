"""Every format gives back what it was given; a document that is not whole is refused."""

from __future__ import annotations

import base64
import json
import random
import subprocess
import sys
from array import array
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow
import pytest
import safetensors
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from titocli.errors import IncompleteSamples, InvalidSamples, MissingExtra, NotAcceptable, UnknownName
from titocli.session.samples.sample import ReplayRows
from titocli.wire import sample_json, sample_parquet, sample_safetensors
from titocli.wire.base64_text import base64_text
from titocli.wire.safetensors_format import Tensor, pack, unpack
from titocli.wire.sample_document import SampleDocument, SampleRecord
from titocli.wire.sample_format_names import SampleFormat
from titocli.wire.sample_formats import chosen_format, encode_samples

from .documents import documents

EMPTY_ROWS = ReplayRows(data=b"", rows=0, layers=2, top_k=0)
RECORD = SampleRecord(
    tokens=array("q", [1, 2, 3]),
    response="ü",
    response_length=2,
    status="completed",
    loss_mask=b"\x01\x00",
    rollout_log_probs=array("d", [-0.1, 0.0]),
    rollout_routed_experts=ReplayRows(data=bytes(range(16)), rows=2, layers=1, top_k=2),
    rollout_indexer_topk=EMPTY_ROWS,
    reward=0.0,
    metadata={"leaf": {"node_id": 0}},
)
DOCUMENT = SampleDocument(session_id="s", samples=(RECORD,), session_metadata={"agent": {"reward": 0.0}})


@settings(deadline=None)
@given(documents())
def test_safetensors_come_back_as_they_were(document: SampleDocument) -> None:
    assert sample_safetensors.decode(sample_safetensors.encode(document)) == document


@settings(deadline=None)
@given(documents())
def test_json_comes_back_as_it_was(document: SampleDocument) -> None:
    assert sample_json.decode_json(sample_json.encode_json(document)) == document


@settings(deadline=None)
@given(documents())
def test_json_lines_come_back_as_they_were_one_a_sample(document: SampleDocument) -> None:
    encoded = sample_json.encode_jsonl(document)

    assert sample_json.decode_jsonl(encoded) == document.samples
    assert encoded.count(b"\n") == len(document.samples)


@settings(deadline=None)
@given(documents())
def test_parquet_comes_back_as_it_was(document: SampleDocument) -> None:
    assert sample_parquet.decode_parquet(sample_parquet.encode_parquet(document)) == document


def test_the_tensors_have_the_names_dtypes_and_shapes_of_the_format() -> None:
    tensors = safetensors.numpy.load(sample_safetensors.encode(DOCUMENT))
    meta = json.loads(tensors.pop("_samples_meta").tobytes())

    assert {name: (str(t.dtype), t.shape) for name, t in tensors.items()} == {
        "tokens.0": ("int64", (3,)),
        "loss_mask.0": ("uint8", (2,)),
        "rollout_log_probs.0": ("float64", (2,)),
        "rollout_routed_experts.0": ("int32", (2, 1, 2)),
        "rollout_indexer_topk.0": ("int32", (0, 2, 0)),
    }
    assert tensors["tokens.0"].tolist() == [1, 2, 3]
    assert tensors["rollout_log_probs.0"].tolist() == [-0.1, 0.0]
    assert meta["samples"][0] == {
        "response": "ü",
        "response_length": 2,
        "status": "completed",
        "weight_versions": [],
        "prefix_cache_info": {},
        "metadata": {"leaf": {"node_id": 0}},
        "reward": 0.0,
        "nulls": [],
    }
    assert meta["session_metadata"] == {"agent": {"reward": 0.0}}
    assert meta["empty_reason"] is None


def test_none_is_listed_and_differs_from_empty() -> None:
    record = replace(RECORD, rollout_routed_experts=None, loss_mask=None)
    document = replace(DOCUMENT, samples=(record,))
    tensors = unpack(sample_safetensors.encode(document))

    assert json.loads(tensors["_samples_meta"].data)["samples"][0]["nulls"] == [
        "loss_mask",
        "rollout_routed_experts",
    ]
    back = sample_safetensors.decode(sample_safetensors.encode(document)).samples[0]
    assert back.rollout_routed_experts is None
    assert back.rollout_indexer_topk == EMPTY_ROWS


def changed(change: Callable[[dict[str, Tensor], Any], object]) -> bytes:
    """The document with its tensors and its JSON changed."""
    tensors = unpack(sample_safetensors.encode(DOCUMENT))
    meta = json.loads(tensors.pop("_samples_meta").data)
    change(tensors, meta)
    text = json.dumps(meta).encode()
    return pack({**tensors, "_samples_meta": Tensor(dtype="U8", shape=(len(text),), data=text)})


def drop(name: str) -> Callable[[dict[str, Tensor], Any], object]:
    return lambda tensors, _: tensors.pop(name)


def retype(name: str, **new: Any) -> Callable[[dict[str, Tensor], Any], object]:
    return lambda tensors, _: tensors.update({name: replace(tensors[name], **new)})


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        (drop("tokens.0"), KeyError, "tensor tokens.0 is promised and missing"),
        (lambda _, meta: meta["samples"][0].pop("nulls"), KeyError, "sample 0 has no nulls"),
        (lambda _, meta: meta["samples"][0].pop("status"), ValueError, "status"),
        (lambda _, meta: meta["samples"][0].update(status="odd"), ValueError, "odd"),
        (
            lambda _, meta: meta["samples"][0].update(nulls=["tokens"]),
            ValueError,
            "no tokens|no sample",
        ),
        (lambda _, meta: meta["samples"][0].update(response_length=3), ValueError, "cover 3"),
        (lambda _, meta: meta["samples"].clear(), ValueError, "belong to no sample: loss_mask.0"),
        (
            lambda tensors, _: tensors.update(more=tensors["tokens.0"]),
            ValueError,
            "belong to no sample: more",
        ),
        (lambda _, meta: meta.pop("session_metadata"), ValueError, "session_metadata"),
        (
            retype("rollout_routed_experts.0", dtype="I16", shape=(2, 1, 4)),
            ValueError,
            "I16 of rank 3; expected I32",
        ),
        (retype("rollout_routed_experts.0", shape=(4,)), ValueError, "rank 1; expected I32 of rank 3"),
        (retype("tokens.0", dtype="F64"), ValueError, "F64"),
        (retype("loss_mask.0", shape=(1, 2)), ValueError, "rank 2"),
    ],
)
def test_a_document_that_breaks_its_promise_is_refused(
    change: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        sample_safetensors.decode(changed(change))


def test_a_document_without_its_json_is_refused() -> None:
    with pytest.raises(IncompleteSamples, match="_samples_meta"):
        sample_safetensors.decode(pack({}))
    with pytest.raises(InvalidSamples, match="not bytes"):
        sample_safetensors.decode(pack({"_samples_meta": Tensor(dtype="I32", shape=(0,), data=b"")}))


def test_json_keys_of_a_later_version_are_ignored() -> None:
    def change(_: Any, meta: Any) -> None:
        meta["new"] = meta["samples"][0]["new"] = {"a": 1}

    assert sample_safetensors.decode(changed(change)) == DOCUMENT


def test_a_mask_of_anything_but_0_and_1_is_not_written() -> None:
    document = replace(DOCUMENT, samples=(replace(RECORD, loss_mask=b"\x01\xff"),))

    with pytest.raises(InvalidSamples, match="0 and 1"):
        sample_safetensors.encode(document)


def with_places(*places: tuple[int, int]) -> bytes:
    """Three bytes of data with a tensor at each of these places."""
    header = {
        str(number): {"dtype": "U8", "shape": [abs(end - begin)], "data_offsets": [begin, end]}
        for number, (begin, end) in enumerate(places)
    }
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + b"abc"


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"\x05\0\0\0\0\0\0\0{}",
        b"\x02\0\0\0\0\0\0\0[]",
        b"\x02\0\0\0\0\0\0\0{}more",
        b"\xff" * 16,
        pack({"a": Tensor(dtype="U8", shape=(2,), data=b"abc")}),
        pack({"a": Tensor(dtype="X9", shape=(3,), data=b"abc")}),
        pack({"a": Tensor(dtype="U8", shape=(-3, -1), data=b"abc")}),
        pack({"a": Tensor(dtype="U8", shape=(3,), data=b"abc")})[:-1],
        with_places((0, 3), (0, 3)),
        with_places((0, 1), (2, 3)),
        with_places((3, 0), (0, 3)),
    ],
)
def test_what_is_no_safetensors_file_is_refused(packed: bytes) -> None:
    with pytest.raises(InvalidSamples, match="not a safetensors document"):
        unpack(packed)


@settings(deadline=None)
@given(st.binary(max_size=64) | documents().map(sample_safetensors.encode).map(lambda data: data[:-3]))
def test_no_bytes_make_the_decoder_raise_anything_else(data: bytes) -> None:
    with pytest.raises((InvalidSamples, IncompleteSamples)):
        sample_safetensors.decode(data)


def test_the_library_and_this_writer_read_each_other() -> None:
    ours = pack(
        {"a": Tensor(dtype="I32", shape=(2, 1), data=bytes(8)), "b": Tensor(dtype="U8", shape=(0,), data=b"")}
    )
    arrays = safetensors.numpy.load(ours)

    assert arrays["a"].shape == (2, 1)
    assert unpack(safetensors.numpy.save(arrays, metadata={"made": "elsewhere"})) == unpack(ours)


def test_parquet_has_a_column_a_field_and_one_row_a_sample() -> None:
    table = parquet.read_table(pyarrow.BufferReader(encode_samples(DOCUMENT, SampleFormat.PARQUET)))
    (row,) = table.to_pylist()

    assert row["tokens"] == [1, 2, 3]
    assert row["loss_mask"] == [1, 0]
    assert (row["reward"], row["status"]) == (0.0, "completed")
    assert row["rollout_routed_experts_shape"] == [2, 1, 2]
    assert json.loads(row["metadata"]) == {"leaf": {"node_id": 0}}
    assert str(table.schema.field("tokens").type) == "list<element: int64>"


def test_parquet_without_pyarrow_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(MissingExtra) as caught:
        encode_samples(DOCUMENT, SampleFormat.PARQUET)
    assert caught.value.hint is not None
    assert "titocli[parquet]" in caught.value.hint


def test_a_file_that_holds_no_samples_is_refused_in_every_format() -> None:
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table({"a": [1]}), sink)
    for data in (b"nothing", sink.getvalue().to_pybytes()):
        with pytest.raises(InvalidSamples):
            sample_parquet.decode_parquet(data)
    for bad in (b"", b"[]", b'{"samples": 1}', b"\xff"):
        with pytest.raises(InvalidSamples):
            sample_json.decode_json(bad)
    with pytest.raises(InvalidSamples, match="line 2"):
        sample_json.decode_jsonl(sample_json.encode_jsonl(DOCUMENT) + b"{}\n")


@pytest.mark.parametrize("size", [0, 1, 2, 3, (3 << 18) - 1, 3 << 18, (3 << 18) + 1, 2_000_000])
def test_base64_in_pieces_is_base64_of_the_whole(size: int) -> None:
    data = random.Random(size).randbytes(size)

    assert base64_text(data) == base64.b64encode(data).decode()


@pytest.mark.parametrize("change", [{"dtype": "int16"}, {"base64": "###"}, {"shape": [9, 9, 9]}])
def test_replay_data_in_json_is_checked(change: Any) -> None:
    sample = json.loads(sample_json.encode_jsonl(DOCUMENT))
    sample["rollout_routed_experts"] |= change

    with pytest.raises(InvalidSamples):
        sample_json.decode_jsonl(json.dumps(sample).encode())


@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
def test_json_refuses_a_log_prob_that_it_cannot_write_and_safetensors_keeps_it(value: float) -> None:
    document = replace(DOCUMENT, samples=(replace(RECORD, rollout_log_probs=array("d", [value, 0.0])),))

    with pytest.raises(InvalidSamples, match="not finite"):
        encode_samples(document, SampleFormat.JSON)
    back = sample_safetensors.decode(encode_samples(document, SampleFormat.SAFETENSORS)).samples[0]
    assert back.rollout_log_probs is not None
    assert str(back.rollout_log_probs[0]) == str(value)


@pytest.mark.parametrize(
    ("named", "accept", "chosen"),
    [
        (None, None, SampleFormat.SAFETENSORS),
        (None, "", SampleFormat.SAFETENSORS),
        (None, "*/*", SampleFormat.SAFETENSORS),
        (None, "text/html, */*;q=0.8", SampleFormat.SAFETENSORS),
        (None, "application/json", SampleFormat.JSON),
        (None, "Application/JSON; charset=utf-8", SampleFormat.JSON),
        (None, "application/json;q=0.2, application/x-ndjson;q=0.9", SampleFormat.JSONL),
        (None, "application/json;q=0, application/vnd.apache.parquet", SampleFormat.PARQUET),
        ("jsonl", "application/json", SampleFormat.JSONL),
    ],
)
def test_the_format_is_what_the_query_names_then_what_accept_prefers(
    named: str | None, accept: str | None, chosen: SampleFormat
) -> None:
    assert chosen_format(named, accept, SampleFormat.SAFETENSORS) is chosen


@pytest.mark.parametrize("accept", ["text/html", "application/json;q=0", "application/json;q=x", ";;,,"])
def test_a_client_that_takes_no_format_is_told(accept: str) -> None:
    with pytest.raises(NotAcceptable) as caught:
        chosen_format(None, accept, SampleFormat.JSON)
    assert caught.value.http_status == 406


def test_an_unknown_format_gets_a_proposal() -> None:
    with pytest.raises(UnknownName) as caught:
        chosen_format("jsnl", None, SampleFormat.JSON)
    assert caught.value.hint is not None
    assert "did you mean 'jsonl'?" in caught.value.hint


def test_encoding_needs_neither_numpy_nor_pyarrow() -> None:
    code = (
        "import sys; sys.modules['numpy'] = sys.modules['pyarrow'] = sys.modules['torch'] = None\n"
        "from titocli.wire.sample_formats import encode_samples\n"
        "from titocli.wire.sample_format_names import SampleFormat\n"
        "from titocli.wire.sample_document import SampleDocument\n"
        "print(len(encode_samples(SampleDocument(session_id='s'), SampleFormat.SAFETENSORS)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert int(done.stdout) > 100
