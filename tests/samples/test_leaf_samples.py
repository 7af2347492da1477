"""What a leaf becomes: trimming, the length limit, merging."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.session.conftest import Transcript, assistant, tool, user
from titocli.errors import SamplesImpossible
from titocli.session.generation import FinishReason
from titocli.session.samples import SampleStatus, samples
from titocli.session.samples.assembly import EmptyReason
from titocli.session.samples.sample import PrefixCache, TurnSpan, WeightSpan

from .numbered import STOP, Numbered
from .numbered import linear as numbered_line

U, A1, A2 = user("hello"), assistant("hi"), assistant("done")


def test_a_session_without_turns_has_no_samples_and_says_so() -> None:
    made = Numbered().collect()

    assert made.samples == ()
    assert made.empty_reason is EmptyReason.NO_RECORDS


def test_a_sample_of_a_real_transcript_holds_every_id_and_masks_what_was_not_sampled(
    linear: Transcript,
) -> None:
    first = linear.turn([U], A1)
    second = linear.turn([U, A1, tool("x")], A2)
    (sample,) = samples(linear.session)

    assert sample.tokens == linear.session.tree.ids(second.id)
    assert sample.first_prompt_length == first.prompt_length
    response = sample.tokens[first.prompt_length :]
    sampled = [token for token, mask in zip(response, sample.loss_mask, strict=True) if mask]
    assert sampled == [*first.completion.ids, *second.completion.ids]
    engine = [*first.completion.log_probs, *second.completion.log_probs]
    masked = list(zip(sample.loss_mask, sample.rollout_log_probs, strict=True))
    assert [value for mask, value in masked if mask] == engine
    assert {value for mask, value in masked if not mask} == {0.0}


def test_a_tree_gives_a_sample_a_leaf_and_a_line_one_in_all(tree: Transcript, linear: Transcript) -> None:
    for session in (tree, linear):
        session.turn([U], A1)
        session.turn([U, A1, tool("x")], A2)
        session.turn([U, A1, tool("y")], A2)

    assert [sample.leaf for sample in samples(tree.session)] == [1, 2]
    assert [sample.leaf for sample in samples(linear.session)] == [2]


def test_two_turns_merge_into_one_sample() -> None:
    numbered = Numbered()
    numbered.turn([1, 2, 3], [10, 11], log_probs=[-0.125, -0.25])
    numbered.turn([1, 2, 3, 10, 11, 20, 21], [30, 31], parent=0, log_probs=[-0.5, -1.0])
    (sample,) = numbered.collect().samples

    assert list(sample.tokens) == [1, 2, 3, 10, 11, 20, 21, 30, 31]
    assert sample.response_length == 6
    assert list(sample.loss_mask) == [1, 1, 0, 0, 1, 1]
    assert list(sample.rollout_log_probs) == [-0.125, -0.25, 0.0, 0.0, -0.5, -1.0]
    assert sample.response == bytes([10, 11, 20, 21, 30, 31]).decode()
    assert sample.status is SampleStatus.COMPLETED
    assert sample.turns == (
        TurnSpan(node_id=0, response_id="r", start=3, end=5),
        TurnSpan(node_id=1, response_id="r", start=7, end=9),
    )


def test_a_stop_token_that_the_next_message_opens_with_is_trimmed() -> None:
    numbered = Numbered()
    numbered.line(
        ([1, 2, 3], [10, STOP]),
        ([1, 2, 3, 10, 4, 5, 6], [20, STOP]),
        ([1, 2, 3, 10, 4, 5, 6, 20, 7, 8, 9], [30, STOP]),
    )
    (sample,) = numbered.collect().samples

    assert sample.metadata["accumulated_token_ids"] == [1, 2, 3, 10, 4, 5, 6, 20, 7, 8, 9, 30, STOP]
    assert list(sample.tokens) == sample.metadata["accumulated_token_ids"]
    outputs = [list(sample.tokens[turn.start : turn.end]) for turn in sample.turns]
    assert outputs == [[10], [20], [30, STOP]]
    assert list(sample.loss_mask) == [1, 0, 0, 0, 1, 0, 0, 0, 1, 1]


def test_more_trimmed_ids_than_the_family_allows_are_an_error_that_names_both() -> None:
    numbered = Numbered()
    numbered.line(([1, 2], [10, 11, STOP]), ([1, 2, 10, 4], [20]))

    with pytest.raises(SamplesImpossible, match=r"2 ids of turn 0 .*; 1 may be"):
        numbered.collect()


def test_a_prompt_that_adds_nothing_is_an_error() -> None:
    numbered = Numbered()
    numbered.line(([1, 2], [10]), ([1, 2, 10], [20]))

    with pytest.raises(SamplesImpossible, match="does not continue turn 0"):
        numbered.collect()


def test_a_truncated_turn_ends_the_sample() -> None:
    numbered = numbered_line()
    numbered.turn([1], [10])
    numbered.turn([1, 10, 2], [20], parent=0, finish=FinishReason.LENGTH)
    numbered.turn([1, 10, 2, 20, 3], [30], parent=1)
    (sample,) = numbered.collect().samples

    assert list(sample.tokens) == [1, 10, 2, 20]
    assert sample.status is SampleStatus.TRUNCATED
    assert sample.leaf == 2
    leaf = sample.metadata["leaf"]
    assert leaf == {"node_id": 2, "parent": 1, "path_node_ids": [0, 1, 2], "response_id": "r"}
    assert [turn.node_id for turn in sample.turns] == [0, 1]


@pytest.mark.parametrize(
    ("limit", "tokens", "status"),
    [
        (20, [1, 2, 10, 11, 3, 20, 21, 22], SampleStatus.COMPLETED),
        (8, [1, 2, 10, 11, 3, 20, 21, 22], SampleStatus.COMPLETED),
        (7, [1, 2, 10, 11, 3, 20, 21], SampleStatus.TRUNCATED),
        (6, [1, 2, 10, 11, 3, 20], SampleStatus.TRUNCATED),
        (5, [1, 2, 10, 11], SampleStatus.COMPLETED),
        (4, [1, 2, 10, 11], SampleStatus.COMPLETED),
        (3, [1, 2, 10], SampleStatus.TRUNCATED),
    ],
)
def test_a_length_limit_cuts_a_turns_end_and_drops_turns_whose_prompt_is_too_long(
    limit: int, tokens: list[int], status: SampleStatus
) -> None:
    numbered = Numbered()
    numbered.line(([1, 2], [10, 11]), ([1, 2, 10, 11, 3], [20, 21, 22]))
    (sample,) = numbered.collect(max_seq_len=limit).samples

    assert list(sample.tokens) == tokens
    assert sample.status is status
    assert len(sample.loss_mask) == len(sample.rollout_log_probs) == len(tokens) - 2


@pytest.mark.parametrize("limit", [1, 2])
def test_a_limit_under_the_first_prompt_leaves_nothing(limit: int) -> None:
    numbered = Numbered()
    numbered.line(([1, 2], [10, 11]))
    made = numbered.collect(max_seq_len=limit)

    assert made.samples == ()
    assert made.empty_reason is EmptyReason.ALL_TRUNCATED


def test_turns_after_the_one_that_was_cut_are_dropped() -> None:
    numbered = Numbered()
    numbered.line(([1], [10, 11, 12]), ([1, 10, 11, 12, 2], [20]))
    (sample,) = numbered.collect(max_seq_len=3).samples

    assert list(sample.tokens) == [1, 10, 11]


def test_weight_versions_stand_in_the_samples_own_positions_and_end_where_it_was_cut() -> None:
    numbered = Numbered()
    numbered.turn([1, 2], [10, STOP], weights=[("7", 0, 2)])
    numbered.turn([1, 2, 10, 3, 4], [20, 21, 22], parent=0, weights=[("7", 0, 1), ("8", 1, 3)])

    (whole,) = numbered.collect().samples
    assert whole.weight_versions == (
        WeightSpan(version="7", start=2, end=3),
        WeightSpan(version="7", start=5, end=6),
        WeightSpan(version="8", start=6, end=8),
    )
    (cut,) = numbered.collect(max_seq_len=6).samples
    assert cut.weight_versions == (
        WeightSpan(version="7", start=2, end=3),
        WeightSpan(version="7", start=5, end=6),
    )


def test_prefix_cache_counts_are_summed_and_missing_ones_are_zero() -> None:
    numbered = Numbered()
    numbered.turn([1, 2], [10])
    numbered.turn([1, 2, 10, 3], [20], parent=0, cached=3)
    (sample,) = numbered.collect().samples

    assert sample.prefix_cache == PrefixCache(cached_tokens=3, total_prompt_tokens=6)


def test_the_lifecycle_says_when_each_turn_began_and_ended() -> None:
    numbered = Numbered()
    numbered.turn([1], [10], metadata={"e2e_latency": 0.25})
    numbered.turn([1, 10, 2], [20], parent=0)
    (sample,) = numbered.collect().samples

    assert sample.metadata["lifecycle"] == [
        {"turn": 1, "req_ts": 1.0, "t0": 1.25, "t1": 1.5, "prev_t1": None},
        {"turn": 2, "req_ts": 2.0, "t0": None, "t1": 2.5, "prev_t1": 1.5},
    ]


def test_session_metrics_count_every_turn_and_add_up_speculation() -> None:
    numbered = Numbered()
    numbered.turn([1, 2], [10], metadata={"spec_verify_ct": 3, "spec_accept_rate": 0.5})
    numbered.turn([1, 2], [11], cached=2, metadata={"spec_verify_ct": 4})
    made = numbered.collect()

    assert len(made.samples) == 1
    assert made.metrics == {
        "turns": 2,
        "prompt_tokens": 4,
        "cached_tokens": 2,
        "completion_tokens": 2,
        "spec_info": {"spec_verify_ct": 7},
    }


def test_collecting_twice_gives_the_same_and_changes_nothing() -> None:
    numbered = Numbered()
    numbered.line(([1, 2], [10, STOP]), ([1, 2, 10, 3], [20]))
    before = list(numbered.session.tree)

    assert numbered.collect(max_seq_len=5) == numbered.collect(max_seq_len=5)
    assert numbered.collect().samples[0].tokens == numbered.session.tree.ids(1)
    assert list(numbered.session.tree) == before


Step = tuple[list[int], list[int], bool]
_ids = st.lists(st.integers(0, 90), min_size=1, max_size=4)


@settings(deadline=None)
@given(
    steps=st.lists(st.tuples(_ids, _ids, st.booleans()), min_size=1, max_size=6),
    limit=st.none() | st.integers(1, 40),
)
def test_a_sample_is_what_folding_plain_lists_gives(steps: list[Step], limit: int | None) -> None:
    """The model: outputs trimmed, turns cut to the limit, then concatenated."""
    numbered, prompt, turns = Numbered(), list[int](), []
    for number, (observed, output, stops) in enumerate(steps):
        prompt = [*prompt, *observed]
        whole = [*output, STOP] if stops else output
        numbered.turn(
            prompt,
            whole,
            parent=number - 1 if number else None,
            log_probs=[-1.0 - at for at in range(len(whole))],
        )
        last = number == len(steps) - 1
        turns.append((prompt, whole if last else output))
        prompt = [*prompt, *output]
    tokens, mask, log_probs = list[int](), list[int](), list[float]()
    for prompt, output in turns:
        room = len(output) if limit is None else min(len(output), limit - len(prompt))
        if room <= 0:
            break
        observed_count = len(prompt) - len(tokens)
        mask += [0] * observed_count + [1] * room
        log_probs += [0.0] * observed_count + [-1.0 - at for at in range(room)]
        tokens = [*prompt, *output[:room]]
        if room < len(output):
            break
    made = numbered.collect(max_seq_len=limit).samples

    assert [list(sample.tokens) for sample in made] == ([tokens] if tokens else [])
    first = len(steps[0][0])
    assert [list(sample.loss_mask) for sample in made] == ([mask[first:]] if tokens else [])
    assert [list(sample.rollout_log_probs) for sample in made] == ([log_probs[first:]] if tokens else [])
