"""Pickers, ownership, postprocessors, and the contract of hooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from titocli.errors import InvalidOption, SampleHookFailed, UnknownName
from titocli.session.samples.assembly import EmptyReason
from titocli.session.samples.hooks import SampleHooks, sample_hooks
from titocli.session.samples.pickers import PICKERS, prompt_digest
from titocli.session.samples.sample import Sample

from .numbered import STOP, Numbered


def leaves(numbered: Numbered, picker: str) -> list[int]:
    return [sample.leaf for sample in numbered.collect(hooks=sample_hooks(picker)).samples]


@pytest.fixture
def branched() -> Numbered:
    """Root 0; children 1 and 2 of other prompts, 3 with the prompt of 1; 4 under 2."""
    numbered = Numbered()
    numbered.turn([1], [10])
    numbered.turn([1, 10, 2], [20], parent=0)
    numbered.turn([1, 10, 3], [30], parent=0)
    numbered.turn([1, 10, 2], [21], parent=0)
    numbered.turn([1, 10, 3, 30, 4], [40], parent=2)
    return numbered


def test_the_default_drops_only_a_retry_of_the_same_prompt(branched: Numbered) -> None:
    assert leaves(branched, "drop_retries_same_prompt") == [4, 3]
    assert [sample.leaf for sample in branched.collect().samples] == [4, 3]


def test_every_later_sibling_supersedes_a_leaf_under_drop_retries(branched: Numbered) -> None:
    branched.turn([1, 10, 5], [50], parent=0)

    assert leaves(branched, "drop_retries") == [4, 5]
    assert leaves(branched, "drop_retries_same_prompt") == [4, 5, 3]


def test_all_leaves_come_with_longer_paths_first_then_later_turns(branched: Numbered) -> None:
    assert leaves(branched, "all_leaves") == [4, 3, 1]


@pytest.mark.parametrize(
    ("picker", "kept"),
    [
        ("drop_retries", [2, 1, 0]),
        ("drop_retries_same_prompt", [2, 1]),
        ("drop_rolled_back_leaves", [2, 1]),
        ("all_leaves", [2, 1, 0]),
    ],
)
def test_first_turns_are_superseded_only_by_first_turns_of_the_same_prompt(
    picker: str, kept: list[int]
) -> None:
    numbered = Numbered()
    numbered.turn([1], [10])
    numbered.turn([2], [11])
    numbered.turn([1], [12])

    assert leaves(numbered, picker) == kept


def test_rolled_back_leaves_go_whatever_their_prompt(branched: Numbered) -> None:
    branched.turn([9], [90])

    assert leaves(branched, "drop_rolled_back_leaves") == [4, 3, 5]
    branched.turn([1, 10, 6], [60], parent=0)
    assert leaves(branched, "drop_rolled_back_leaves") == [4, 6, 5]


def test_a_retry_counts_also_where_its_own_leaf_was_cut() -> None:
    numbered = Numbered()
    numbered.turn([1], [10])
    numbered.turn([1], [11, 12])

    assert [sample.leaf for sample in numbered.collect(max_seq_len=2).samples] == [1]
    assert numbered.collect(max_seq_len=1).empty_reason is EmptyReason.ALL_TRUNCATED


def test_a_digest_tells_prompts_apart_by_parent_and_ids() -> None:
    numbered = Numbered()
    first, again = numbered.turn([1], [10]), numbered.turn([1], [11])
    other = numbered.turn([2], [10])
    under = [numbered.turn([1, 10, 5], [20], parent=0), numbered.turn([1, 11, 5], [20], parent=1)]

    assert prompt_digest(first) == prompt_digest(again)
    assert len({prompt_digest(turn) for turn in (first, other, *under)}) == 4


def test_a_shared_completion_trains_in_the_leaf_that_was_committed_first() -> None:
    numbered = Numbered()
    numbered.turn([1, 2, 3], [10, 11])
    numbered.turn([1, 2, 3, 10, 11, 20], [30], parent=0)
    numbered.turn([1, 2, 3, 10, 11, 20, 30, 40], [50], parent=1)
    numbered.turn([1, 2, 3, 10, 11, 21], [31], parent=0)
    masks = {sample.leaf: list(sample.loss_mask) for sample in numbered.collect().samples}

    assert masks == {2: [1, 1, 0, 1, 0, 1], 3: [0, 0, 0, 1]}


def test_a_dropped_leaf_owns_nothing_and_order_does_not_matter() -> None:
    numbered = Numbered()
    numbered.turn([1], [10])
    numbered.turn([1, 10, 2], [20], parent=0)
    numbered.turn([1, 10, 2], [21], parent=0)
    numbered.turn([1, 10, 3], [30], parent=0)
    masks = {sample.leaf: list(sample.loss_mask) for sample in numbered.collect().samples}
    assert masks == {2: [1, 0, 1], 3: [0, 0, 1]}

    def backwards(samples: Sequence[Sample], metadata: Any) -> list[Sample]:
        return [samples[2], samples[0]]

    picked = numbered.collect(hooks=SampleHooks(picker=backwards)).samples
    assert [(sample.leaf, list(sample.loss_mask)) for sample in picked] == [(3, [0, 0, 1]), (1, [1, 0, 1])]


def test_every_sampled_id_trains_exactly_once_over_all_leaves(branched: Numbered) -> None:
    made = branched.collect(hooks=sample_hooks("all_leaves")).samples

    trained = [
        (turn.node_id, at)
        for sample in made
        for turn in sample.turns
        for at in range(turn.start, turn.end)
        if sample.loss_mask[at - sample.first_prompt_length]
    ]
    sampled = [
        (turn.id, at) for turn in branched.session.tree for at in range(turn.prompt_length, turn.token_count)
    ]
    assert sorted(trained) == sorted(sampled)


@settings(deadline=None)
@given(
    turns=st.lists(
        st.tuples(st.integers(0, 20), st.integers(0, 3), st.integers(1, 3), st.booleans()),
        min_size=1,
        max_size=10,
    )
)
def test_in_every_tree_each_id_that_a_leaf_holds_trains_exactly_once(
    turns: list[tuple[int, int, int, bool]],
) -> None:
    """Turns as (which earlier turn it continues, 0 for none; id that it appends; sampled ids; ends in a stop)."""
    numbered = Numbered()
    tree = numbered.session.tree
    for choice, appended, sampled, stops in turns:
        parent = choice % (len(tree) + 1) - 1
        before = [] if parent < 0 else list(tree.ids(parent))
        if before and before[-1] == STOP:
            del before[-1]
        output = [5] * sampled + [STOP] * stops
        numbered.turn([*before, appended], output, parent=None if parent < 0 else parent)
    made = numbered.collect(hooks=sample_hooks("all_leaves")).samples

    trained = [
        (turn.node_id, at)
        for sample in made
        for turn in sample.turns
        for at in range(turn.start, turn.end)
        if sample.loss_mask[at - sample.first_prompt_length]
    ]
    leaves = set(tree.leaves())
    held = [
        (turn.id, at)
        for turn in tree
        for at in range(turn.prompt_length, turn.token_count)
        if turn.id in leaves or turn.completion.ids[at - turn.prompt_length] != STOP
    ]
    assert sorted(trained) == sorted(held)
    assert sum(sum(sample.loss_mask) for sample in made) == len(held)


def test_agent_metadata_is_merged_except_what_the_server_owns(branched: Numbered) -> None:
    agent: dict[str, Any] = {
        "reward": 0.0,
        "note": "x",
        "leaf": "mine",
        "turns": 1,
        "tito_session_mismatch": [],
    }
    made = branched.collect(agent=agent)

    for sample in made.samples:
        assert sample.reward == 0.0
        assert sample.metadata["note"] == "x"
        assert sample.metadata["leaf"]["node_id"] == sample.leaf  # type: ignore[index,call-overload] # JSON
        assert sample.metadata["turns"] != 1
        assert sample.metadata["tito_session_mismatch"] != []
    assert made.session_metadata["agent"] == agent
    assert branched.collect().samples[0].reward is None


def test_completions_that_the_agent_names_are_told_by_their_spans() -> None:
    numbered = Numbered()
    numbered.turn([1, 2], [10, 11], response_id="a")
    numbered.turn([1, 2, 10, 11, 3], [20], parent=0, response_id="b")
    numbered.turn([1, 2, 10, 11, 4], [30], parent=0, response_id="c")

    def spans(*named: str) -> list[Any]:
        agent: dict[str, Any] = {"non_positive_advantage_response_ids": list(named)}
        made = numbered.collect(agent=agent).samples
        return [sample.metadata["non_positive_advantage_spans"] for sample in made]

    assert spans("a", "c", "elsewhere") == [[[2, 4], [5, 6]], [[2, 4]]]
    assert spans() == [[], []]
    spoofed = numbered.collect(agent={"non_positive_advantage_spans": [[0, 9]]}).samples
    assert all("non_positive_advantage_spans" not in sample.metadata for sample in spoofed)


@pytest.mark.parametrize("named", ["a", [1], None, {"a": 1}])
def test_response_ids_that_are_no_list_of_texts_are_refused(branched: Numbered, named: Any) -> None:
    with pytest.raises(SampleHookFailed, match="must be a list of response ids"):
        branched.collect(agent={"non_positive_advantage_response_ids": named})


def test_a_picker_sees_samples_and_the_tree_and_its_choice_is_kept(branched: Numbered) -> None:
    seen: list[Any] = []

    def choose(samples: Sequence[Sample], metadata: Any) -> list[Sample]:
        seen.append((len(samples), len(metadata["tree"]["nodes"]), metadata["agent"]))
        return [sample for sample in samples if sample.leaf == 1]

    made = branched.collect(hooks=SampleHooks(picker=choose), agent={"a": 1})

    assert [sample.leaf for sample in made.samples] == [1]
    assert seen == [(3, 5, {"a": 1})]


def test_nothing_picked_is_an_empty_set_with_a_reason(branched: Numbered) -> None:
    made = branched.collect(hooks=SampleHooks(picker=lambda *_: []))

    assert (made.samples, made.empty_reason) == ((), EmptyReason.ALL_TRUNCATED)


@pytest.mark.parametrize(
    ("pick", "said"),
    [
        (lambda samples, _: [replace(samples[0])], "subset of its input samples without duplicates"),
        (lambda samples, _: [samples[0], samples[0]], "without duplicates"),
        (lambda *_: [object()], "subset"),
        (lambda *_: None, "TypeError"),
        (lambda *_: 1 / 0, "ZeroDivisionError: division by zero"),
    ],
)
def test_a_picker_that_breaks_its_contract_is_named(branched: Numbered, pick: Any, said: str) -> None:
    hooks = SampleHooks(picker_name="mine.pick", picker=pick)

    with pytest.raises(SampleHookFailed, match="session sample hook failed") as caught:
        branched.collect(hooks=hooks)
    assert said in caught.value.message
    assert "picker=mine.pick, postprocessor=default_postprocess" in caught.value.message
    assert caught.value.http_status == 422
    assert caught.value.details == {"picker": "mine.pick", "postprocessor": "default_postprocess"}


@pytest.mark.parametrize(
    "post",
    [
        lambda samples, _, __: samples[1:],
        lambda samples, _, __: list(reversed(samples)),
        lambda samples, _, __: [*samples[:-1], None],
        lambda samples, _, __: [replace(s, tokens=s.tokens[:-1]) for s in samples],
        lambda samples, _, __: [replace(s, loss_mask=b"") for s in samples],
        lambda samples, _, __: [replace(s, loss_mask=b"\x02" * len(s.loss_mask)) for s in samples],
    ],
)
def test_a_postprocessor_must_return_each_sample_with_its_tokens(branched: Numbered, post: Any) -> None:
    with pytest.raises(SampleHookFailed, match="postprocessor=mine"):
        branched.collect(hooks=SampleHooks(postprocessor_name="mine", postprocessor=post))


def test_a_postprocessor_that_returns_no_samples_is_told_so(branched: Numbered) -> None:
    hooks = SampleHooks(postprocessor=lambda samples, _, __: [None for _sample in samples])  # type: ignore[misc] # no samples on purpose

    with pytest.raises(SampleHookFailed, match="must return samples"):
        branched.collect(hooks=hooks)


def test_a_postprocessor_may_change_masks_rewards_and_metadata(branched: Numbered) -> None:
    def post(samples: Sequence[Sample], metadata: Any, agent: Any) -> list[Sample]:
        return [replace(s, loss_mask=bytes(len(s.loss_mask)), reward=float(s.leaf)) for s in samples]

    made = branched.collect(hooks=SampleHooks(postprocessor=post)).samples

    assert [sample.reward for sample in made] == [4.0, 3.0]
    assert all(not any(sample.loss_mask) for sample in made)


def test_a_long_error_of_a_hook_is_cut() -> None:
    def pick(samples: Sequence[Sample], metadata: Any) -> list[Sample]:
        raise ValueError("x" * 10_000)

    numbered = Numbered()
    numbered.line(([1], [2]))
    with pytest.raises(SampleHookFailed) as caught:
        numbered.collect(hooks=SampleHooks(picker=pick))
    assert len(caught.value.message) < 400


def user_picker(samples: Sequence[Sample], metadata: Any) -> Sequence[Sample]:
    return samples[:1]


async def user_async(samples: Sequence[Sample], metadata: Any) -> Sequence[Sample]:
    return samples


@pytest.mark.parametrize("path", [f"{__name__}.user_picker", f"{__name__}:user_picker"])
def test_hooks_are_found_by_dotted_path(branched: Numbered, path: str) -> None:
    hooks = sample_hooks(path)

    assert hooks.picker is user_picker
    assert hooks.picker_name == path
    assert [sample.leaf for sample in branched.collect(hooks=hooks).samples] == [1]


def test_every_built_in_picker_is_found_by_its_name_and_the_first_is_the_default() -> None:
    assert list(PICKERS) == [
        "drop_retries_same_prompt",
        "drop_retries",
        "drop_rolled_back_leaves",
        "all_leaves",
    ]
    assert sample_hooks() == SampleHooks()
    assert sample_hooks("all_leaves").picker is PICKERS["all_leaves"]


def test_an_unknown_name_gets_the_nearest_one_proposed() -> None:
    with pytest.raises(UnknownName) as caught:
        sample_hooks("drop_retrys")
    assert caught.value.hint is not None
    assert "did you mean 'drop_retries'?" in caught.value.hint


@pytest.mark.parametrize("path", [f"{__name__}.user_async", f"{__name__}.missing", "no.such.module"])
@pytest.mark.parametrize("option", ["picker", "postprocessor"])
def test_a_hook_that_cannot_be_called_is_refused_at_start(path: str, option: str) -> None:
    with pytest.raises(InvalidOption, match=f"--sample-{option}"):
        sample_hooks(**{option: path})
