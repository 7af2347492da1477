"""Sample documents of every shape."""

from __future__ import annotations

from array import array

from hypothesis import strategies as st

from titocli.session.samples.sample import ReplayRows
from titocli.wire.sample_document import SampleDocument, SampleRecord

_text = st.text(st.characters(codec="utf-8"), max_size=8)
_int64 = st.integers(-(2**63), 2**63 - 1)
_finite = st.floats(allow_nan=False, allow_infinity=False)
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | _finite | _text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_text, inner, max_size=3),
    max_leaves=6,
)
_object = st.dictionaries(_text, _json, max_size=3)


@st.composite
def replay_rows(draw: st.DrawFn) -> ReplayRows:
    rows, layers, top_k = (draw(st.integers(0, 3)) for _ in range(3))
    data = draw(st.binary(min_size=4 * rows * layers * top_k, max_size=4 * rows * layers * top_k))
    return ReplayRows(data=data, rows=rows, layers=layers, top_k=top_k)


@st.composite
def records(draw: st.DrawFn) -> SampleRecord:
    length = draw(st.integers(0, 4))
    mask = st.lists(st.integers(0, 1), min_size=length, max_size=length).map(bytes)
    floats = st.lists(_finite, min_size=length, max_size=length)
    return SampleRecord(
        tokens=array("q", draw(st.lists(_int64, max_size=5))),
        response=draw(_text),
        response_length=length,
        status=draw(st.sampled_from(["completed", "truncated", "aborted"])),
        loss_mask=draw(st.none() | mask),
        rollout_log_probs=draw(st.none() | floats.map(lambda values: array("d", values))),
        rollout_routed_experts=draw(st.none() | replay_rows()),
        rollout_indexer_topk=draw(st.none() | replay_rows()),
        weight_versions=tuple(draw(st.lists(_object, max_size=2))),
        prefix_cache_info=draw(_object),
        reward=draw(st.none() | _finite),
        metadata=draw(_object),
    )


def documents() -> st.SearchStrategy[SampleDocument]:
    return st.builds(
        SampleDocument,
        session_id=_text,
        samples=st.lists(records(), max_size=3).map(tuple),
        empty_reason=st.none() | st.sampled_from(["no_records", "all_truncated"]),
        session_metadata=_object,
        session_rollout_metrics=_object,
    )
