"""Where requests attach: the transcripts of linear and tree sessions."""

from __future__ import annotations

import pytest

from titocli.errors import RollbackTooDeep, SessionLimit, StaleCommit, TruncatedPath
from titocli.session.arguments import TurnRequest
from titocli.session.generation import FinishReason
from titocli.session.history import HistoryPolicy
from titocli.session.limits import SessionLimits
from titocli.session.session import Session

from .conftest import Transcript, assistant, renderer_of, snapshot, tool, user

U, A1, A2 = user("What is 1+2?"), assistant("three"), assistant("surely three")


def test_a_first_turn_is_a_root_and_an_extension_its_child(linear: Transcript) -> None:
    root = linear.turn([U], A1)
    child = linear.turn([U, A1, tool("ok")], A2)

    assert (root.parent, child.parent) == (None, root.id)
    assert linear.session.tree.messages(child.id) == [U, A1, tool("ok"), A2]


def test_resending_the_first_request_retries_it_and_the_retry_replaces_it(linear: Transcript) -> None:
    linear.turn([U], A1)
    retry = linear.turn([U], A2)

    assert retry.parent is None
    assert linear.session.leaves() == (retry.id,)
    assert linear.turn([U, A2, tool("ok")], A1).parent == retry.id


def test_a_linear_retry_supersedes_only_when_it_commits(linear: Transcript) -> None:
    root = linear.turn([U], A1)
    head = linear.turn([U, A1, tool("x")], A2)
    before = snapshot(linear.session)

    linear.plan([U, A1, tool("y")])  # planned, then the engine fails: nothing is committed

    assert snapshot(linear.session) == before
    assert linear.turn([U, A1, tool("x"), A2, user("go on")], A1).parent == head.id
    assert linear.session.tree.path(linear.session.head)[0].id == root.id


def test_a_linear_session_refuses_to_discard_two_turns(linear: Transcript) -> None:
    linear.turn([U], A1)
    linear.turn([U, A1, tool("x")], A2)
    linear.turn([U, A1, tool("x"), A2, user("more")], A1)
    before = snapshot(linear.session)

    with pytest.raises(RollbackTooDeep) as refused:
        linear.plan([U, A1, tool("other")])

    assert refused.value.details["discarded"] == 2
    assert snapshot(linear.session) == before


def test_an_assistant_message_of_the_client_is_no_checkpoint(linear: Transcript) -> None:
    few_shot = [U, assistant("by the client"), user("and 2+3?")]
    linear.turn(few_shot, A1)
    linear.turn([*few_shot, A1, tool("x")], A2)

    retry = linear.turn([*few_shot, A1, tool("y")], A2)

    assert retry.parent == 0
    assert len(linear.session.tree.path(retry.id)) == 2


def test_replaying_everything_asks_for_one_more_assistant_message(linear: Transcript) -> None:
    root = linear.turn([U], A1)
    again = linear.plan([U, A1])

    assert again.parent == root.id
    assert again.appended == ()
    assert again.prompt_ids[: root.token_count] == linear.session.tree.ids(root.id)


def test_of_two_concurrent_linear_turns_the_second_commit_is_refused(linear: Transcript) -> None:
    linear.turn([U], A1)
    one, other = linear.plan([U, A1, tool("x")]), linear.plan([U, A1, tool("x")])
    linear.commit(one, linear.completion(A2))
    before = snapshot(linear.session)

    with pytest.raises(StaleCommit):
        linear.commit(other, linear.completion(A2))

    assert snapshot(linear.session) == before


def test_a_stale_commit_is_told_by_identity_and_not_by_count(linear: Transcript) -> None:
    linear.turn([U], A1)
    linear.turn([U, A1, tool("x")], A2)
    slow = linear.plan([U, A1, tool("x"), A2, user("go on")])
    linear.turn([U, A1, tool("x")], A2)  # a retry: as many turns as before, but another one

    with pytest.raises(StaleCommit):
        linear.commit(slow, linear.completion(A1))


def test_concurrent_turns_of_a_tree_become_siblings_in_commit_order(tree: Transcript) -> None:
    root = tree.turn([U], A1)
    one, other = tree.plan([U, A1, tool("x")]), tree.plan([U, A1, tool("x")])
    second = tree.commit(other, tree.completion(A2))
    third = tree.commit(one, tree.completion(A2))

    assert [second.parent, third.parent] == [root.id, root.id]
    assert tree.session.tree.leaves() == (second.id, third.id)


def test_a_tree_attaches_at_the_deepest_turn_that_is_replayed(tree: Transcript) -> None:
    tree.turn([U], A1)
    deep = tree.turn([U, A1, tool("x")], A2)
    branch = tree.turn([U, A1, tool("y")], A2)
    deeper = tree.turn([U, A1, tool("x"), A2, user("on")], A1)

    assert (branch.parent, deeper.parent) == (0, deep.id)


def test_among_equal_turns_the_latest_is_continued(tree: Transcript) -> None:
    tree.turn([U], A1)
    twin = tree.turn([U], A1)

    assert tree.plan([U, A1, tool("x")]).parent == twin.id


def test_a_compacted_history_opens_a_new_root(tree: Transcript) -> None:
    tree.turn([U], A1)
    root = tree.turn([user("summary of all that"), A1, user("next")], A2)

    assert root.parent is None
    assert root.reused_count == 0


def test_a_truncated_turn_cannot_be_extended_in_a_tree_but_its_parent_can(tree: Transcript) -> None:
    tree.turn([U], A1)
    tree.turn([U, A1, tool("x")], A2, finish_reason=FinishReason.LENGTH)
    before = snapshot(tree.session)

    with pytest.raises(TruncatedPath):
        tree.plan([U, A1, tool("x"), A2, user("on")])

    assert snapshot(tree.session) == before
    assert tree.plan([U, A1, tool("y")]).parent == 0


def test_a_full_session_refuses_before_the_engine_runs() -> None:
    session = Session(renderer_of("qwen3"), HistoryPolicy.TREE, limits=SessionLimits(max_turns=2))
    full = Transcript(session)
    full.turn([U], A1)
    full.turn([U], A2)

    with pytest.raises(SessionLimit):
        session.plan(TurnRequest(messages=[U]))


def test_a_deep_path_is_walked_without_recursion(tree: Transcript) -> None:
    messages = [U]
    for number in range(1000):
        reply = assistant(f"answer {number}")
        turn = tree.turn(messages, reply)
        messages = [*messages, reply, user(f"question {number}")]

    assert len(tree.session.tree.path(turn.id)) == 1000
