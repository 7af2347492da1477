"""What a collector may say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from titocli.errors import InvalidSampleRequest, UnknownName
from titocli.session.samples.assembly import SampleRequest
from titocli.wire.sample_request import max_seq_len_of, sample_request

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
_keys = st.sampled_from(["max_seq_len", "metadata"]) | st.text(max_size=5)


@settings(deadline=None)
@given(st.dictionaries(_keys, _json | st.dictionaries(st.just("reward"), _json), max_size=3))
def test_any_object_is_a_request_or_refused_in_a_sentence(body: dict[str, Any]) -> None:
    try:
        asked = sample_request(body, default_max_seq_len=5)
    except (InvalidSampleRequest, UnknownName):
        return
    assert body.keys() <= {"max_seq_len", "metadata"}
    assert asked.max_seq_len == (5 if body.get("max_seq_len") is None else body["max_seq_len"])
    assert asked.agent_metadata == (body.get("metadata") or {})


def test_null_is_as_good_as_nothing() -> None:
    assert sample_request({"max_seq_len": None, "metadata": None}) == SampleRequest()
    assert sample_request({}, default_max_seq_len=7).max_seq_len == 7
    assert sample_request({"metadata": {"reward": None}}).agent_metadata == {"reward": None}


@pytest.mark.parametrize("text", ["0", "-1", "1.0", "", " 1", "٣", "9" * 19, "1_0", "x"])
def test_a_length_in_a_query_is_a_plain_whole_number(text: str) -> None:
    with pytest.raises(InvalidSampleRequest) as caught:
        max_seq_len_of(text)
    assert caught.value.details == {"param": "max_seq_len"}
    assert max_seq_len_of("12") == 12
