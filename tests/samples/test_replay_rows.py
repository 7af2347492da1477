"""Replay data: joined, cut, and refused where rows are missing."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from titocli.errors import InvalidOption, SamplesImpossible
from titocli.session.generation import (
    FinishReason,
    ReplayKind,
    ReplayMode,
    ReplayOutputs,
    ReplayPayload,
)
from titocli.session.samples import SampleStatus
from titocli.session.samples.sample import ReplayRows, Sample

from .numbered import STOP, Numbered, experts, rows

EXPERTS, INDEXER = ReplayKind.ROUTED_EXPERTS, ReplayKind.INDEXER_TOPK


def only(numbered: Numbered, limit: int | None = None) -> Sample:
    (sample,) = numbered.collect(max_seq_len=limit).samples
    return sample


def first_values(found: ReplayRows | None) -> list[int]:
    """The number that each row was made of."""
    assert found is not None
    values = struct.unpack(f"<{len(found.data) // 4}i", found.data)
    return [value // 10 for value in values[:: found.layers * found.top_k]]


def test_additional_rows_join_to_what_the_full_data_says() -> None:
    numbered = Numbered()
    numbered.turn([1, 2, 3], [10, 11], replay=experts(range(4), start=0))
    numbered.turn([1, 2, 3, 10, 11, 4], [20, 21], parent=0, replay=experts(range(4, 7), start=4))

    assert only(numbered).routed_experts == ReplayRows(
        data=rows(range(7), start=None).data, rows=7, layers=2, top_k=3
    )


def test_a_second_turn_that_starts_elsewhere_is_refused() -> None:
    numbered = Numbered()
    numbered.turn([1, 2, 3], [10, 11], replay=experts(range(4), start=0))
    numbered.turn([1, 2, 3, 10, 11, 4], [20, 21], parent=0, replay=experts(range(5, 7), start=5))

    with pytest.raises(SamplesImpossible, match="record 1 starts at row 5; expected 4"):
        numbered.collect()


def test_full_data_is_taken_from_the_last_turn() -> None:
    numbered = Numbered()
    numbered.turn([1], [10], replay=experts([7], start=None))
    numbered.turn([1, 10, 2], [20], parent=0, replay=experts([1, 2, 3], start=None))

    assert first_values(only(numbered).routed_experts) == [1, 2, 3]


def test_every_cut_also_cuts_the_rows() -> None:
    numbered = Numbered()
    numbered.turn([1, 2], [10, 11, 12], replay=experts(range(4), start=0))
    sample = only(numbered, limit=4)

    assert (len(sample.tokens), sample.status) == (4, SampleStatus.TRUNCATED)
    assert len(sample.loss_mask) == len(sample.rollout_log_probs) == 2
    assert first_values(sample.routed_experts) == [0, 1, 2]


def test_rows_of_a_turn_that_the_limit_dropped_are_not_needed() -> None:
    numbered = Numbered()
    numbered.turn([1, 2], [10, 11], replay=experts(range(3), start=0))
    numbered.turn([1, 2, 10, 11, 4], [20], parent=0, replay=experts(range(9), start=8))

    assert first_values(only(numbered, limit=4).routed_experts) == [0, 1, 2]


def test_a_trimmed_stop_token_costs_no_row() -> None:
    """Its row would have come from reading it, and nobody did."""
    numbered = Numbered()
    numbered.turn([1, 2], [10, STOP], replay=experts(range(3), start=0))
    numbered.turn([1, 2, 10, 4, 5], [20, STOP], parent=0, replay=experts(range(3, 6), start=3))

    assert first_values(only(numbered).routed_experts) == list(range(6))


def test_a_turn_without_data_after_one_with_it_ends_the_sample() -> None:
    numbered = Numbered()
    numbered.turn([1, 2], [10], replay=experts(range(2), start=0))
    numbered.turn([1, 2, 10, 3], [20], parent=0)
    sample = only(numbered)

    assert list(sample.tokens) == [1, 2, 10]
    assert first_values(sample.routed_experts) == [0, 1]
    assert sample.status is SampleStatus.COMPLETED


def test_no_data_at_all_is_none() -> None:
    numbered = Numbered()
    numbered.line(([1], [2]))

    assert only(numbered).routed_experts is None
    assert only(numbered).indexer_topk is None


def test_both_kinds_stand_beside_each_other() -> None:
    numbered = Numbered()
    both = {**experts([0, 1], start=0), INDEXER: rows([5, 6], start=None, layers=1, top_k=4)}
    numbered.turn([1, 2], [10], replay=both)
    sample = only(numbered)

    assert first_values(sample.routed_experts) == [0, 1]
    assert sample.indexer_topk is not None
    assert sample.indexer_topk.shape == (2, 1, 4)


def test_an_indexer_gap_ends_the_sample_too() -> None:
    numbered = Numbered()
    numbered.turn([1], [10], replay={INDEXER: rows([0], start=None)})
    numbered.turn([1, 10, 2], [20], parent=0, replay=experts(range(3), start=None))

    assert list(only(numbered).tokens) == [1, 10]


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ({}, experts(range(2, 5), start=2), "record 0 has no routed_experts payload"),
        (experts([0, 1], start=0), experts(range(5), start=None), "carries no routed_experts_start_len"),
        (experts([0, 1], start=0), {EXPERTS: rows([], start=2)}, "presence does not match 3 rows"),
        (experts([0, 1], start=0), experts([2, 3], start=2), "differ in layers or top-k"),
        (experts([0, 1], start=0), {EXPERTS: rows([2, 3], start=2, top_k=1)}, "not int32 of shape"),
        (
            experts([0, 1], start=0),
            {EXPERTS: ReplayPayload(data=b"\0" * 7, start=2, layers=2)},
            "7 bytes are not int32",
        ),
        (
            experts([0, 1], start=0),
            {EXPERTS: rows([2, 3, 4], start=2, top_k=4)},
            "differ in layers or top-k",
        ),
    ],
)
def test_rows_that_cannot_be_joined_are_refused(
    first: dict[ReplayKind, ReplayPayload], second: dict[ReplayKind, ReplayPayload], said: str
) -> None:
    numbered = Numbered()
    numbered.turn([1, 2], [10], replay=first)
    numbered.turn([1, 2, 10, 3], [20, 21], parent=0, replay=second)

    with pytest.raises(SamplesImpossible, match=said) as caught:
        numbered.collect()
    assert caught.value.http_status == 422


def test_full_data_only_on_an_earlier_turn_of_a_truncated_path_is_kept() -> None:
    numbered = Numbered()
    numbered.turn([1, 2], [10], finish=FinishReason.LENGTH, replay=experts([0, 1], start=None))

    assert first_values(only(numbered).routed_experts) == [0, 1]


def test_rows_of_no_experts_are_empty_and_not_none() -> None:
    numbered = Numbered()
    numbered.turn([1, 2], [10], replay={EXPERTS: ReplayPayload(data=b"", start=0, layers=3)})
    with pytest.raises(SamplesImpossible, match="presence"):
        numbered.collect()


@settings(deadline=None)
@given(
    turns=st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4), st.booleans()), min_size=1, max_size=6),
    limit=st.integers(1, 40),
)
def test_additional_rows_always_equal_the_rows_of_the_whole(
    turns: list[tuple[int, int, bool]], limit: int
) -> None:
    numbered, prompt, covered = Numbered(), list[int](), 0
    for number, (observed, sampled, stops) in enumerate(turns):
        prompt = [*prompt, *[3] * observed]
        output = [*[4] * sampled, STOP] if stops else [4] * sampled
        end = len(prompt) + len(output) - 1
        start = ReplayOutputs().start(covered + 1 if number else 0)
        assert start == covered
        numbered.turn(
            prompt,
            output,
            parent=number - 1 if number else None,
            replay=experts(range(covered, end), start=start),
        )
        covered, prompt = end, [*prompt, *[4] * sampled]
    for sample in numbered.collect(max_seq_len=limit).samples:
        assert first_values(sample.routed_experts) == list(range(len(sample.tokens) - 1))


def test_the_first_row_to_ask_for_follows_from_what_the_checkpoint_was_read_of() -> None:
    additional, full = ReplayOutputs(), ReplayOutputs(mode=ReplayMode.FULL)

    assert [additional.start(length) for length in (0, 1, 5)] == [0, 0, 4]
    assert full.start(5) is None


@pytest.mark.parametrize("layers", [None, 0])
def test_routed_experts_need_a_number_of_layers(layers: int | None) -> None:
    with pytest.raises(InvalidOption, match="number of layers"):
        ReplayOutputs(kinds=frozenset({EXPERTS}), layers=layers)
