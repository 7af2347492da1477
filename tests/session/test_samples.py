"""Samples: what a trainer gets."""

from __future__ import annotations

from array import array
from dataclasses import replace

from titocli.families.boundary import BoundaryIds
from titocli.session.generation import Completion, FinishReason, WeightVersion
from titocli.session.samples import SampleStatus, samples
from titocli.tokens.ids import token_ids

from .conftest import Transcript, assistant, tool, user

U, A1, A2 = user("hello"), assistant("hi"), assistant("done")


def test_a_session_without_turns_has_no_samples(linear: Transcript) -> None:
    assert samples(linear.session) == ()


def test_a_sample_holds_every_id_and_masks_what_was_not_sampled(linear: Transcript) -> None:
    first = linear.turn([U], A1)
    second = linear.turn([U, A1, tool("x")], A2)
    (sample,) = samples(linear.session)

    assert sample.tokens == linear.session.tree.ids(second.id)
    assert sample.response_length == len(sample.tokens) - first.prompt_length
    assert len(sample.loss_mask) == len(sample.rollout_log_probs) == sample.response_length
    sampled = [
        token
        for token, mask in zip(sample.tokens[first.prompt_length :], sample.loss_mask, strict=True)
        if mask
    ]
    assert sampled == [*first.completion.ids, *second.completion.ids]


def test_log_probs_are_the_engines_and_zero_where_nothing_was_sampled(linear: Transcript) -> None:
    turns = [linear.turn([U], A1), linear.turn([U, A1, tool("x")], A2)]
    (sample,) = samples(linear.session)

    engine = [log_prob for turn in turns for log_prob in turn.completion.log_probs]
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


def test_a_sample_stops_at_a_truncated_turn(linear: Transcript) -> None:
    linear.turn([U], A1)
    cut = linear.turn([U, A1, tool("x")], A2, finish_reason=FinishReason.LENGTH)
    linear.turn([U, A1, tool("x"), A2, user("on")], A1)
    (sample,) = samples(linear.session)

    assert sample.status is SampleStatus.TRUNCATED
    assert sample.tokens == linear.session.tree.ids(cut.id)
    assert sample.metadata["leaf"]["path_node_ids"] == [0, 1]  # type: ignore[index,call-overload]


def test_a_completed_sample_says_so(linear: Transcript) -> None:
    linear.turn([U], A1)

    assert samples(linear.session)[0].status is SampleStatus.COMPLETED


def test_a_trimmed_stop_token_leaves_the_sample_with_its_mask_and_log_prob(linear: Transcript) -> None:
    """GLM's rule, on small numbers: 99 ends a turn and is written again as the next opener."""
    linear.session.renderer._boundary = BoundaryIds(trim_ids=frozenset({99}))
    first = linear.commit(linear.plan([U]), _completion([10, 99]))
    second = linear.commit(linear.plan([U, A1, tool("x")]), _completion([20, 99]))
    (sample,) = samples(linear.session)

    assert second.trim == 1
    assert sample.tokens == linear.session.tree.ids(second.id)
    assert bytes(sample.loss_mask) == b"\x01" + bytes(len(second.prompt_delta)) + b"\x01\x01"
    assert list(sample.rollout_log_probs) == [-0.5, *[0.0] * len(second.prompt_delta), -0.5, -0.5]
    assert sample.tokens[first.prompt_length] == 10


def _completion(ids: list[int]) -> Completion:
    return Completion(
        ids=token_ids(ids),
        log_probs=array("d", [-0.5] * len(ids)),
        finish_reason=FinishReason.STOP,
        message=A1,
        response_id="r",
        model="m",
    )


def test_weight_versions_are_moved_to_the_samples_own_offsets(linear: Transcript) -> None:
    plan = linear.plan([U])
    plain = linear.completion(A1)
    versions = (WeightVersion(version="7", start=0, end=len(plain.ids)),)
    turn = linear.commit(plan, replace(plain, weight_versions=versions))
    (sample,) = samples(linear.session)

    assert sample.metadata["weight_versions"] == [
        {"version": "7", "start": turn.prompt_length, "end": turn.token_count}
    ]
