"""Reported failures of histories: retries, rollbacks, branches, concurrent requests, limits."""

from __future__ import annotations

from typing import Any

import pytest

from tests.session.conftest import Transcript, assistant, renderer_of, snapshot, tool, user
from titocli.errors import (
    EngineAborted,
    InvalidMessages,
    RoleNotAppendable,
    RollbackTooDeep,
    SessionLimit,
    StaleCommit,
    TruncatedPath,
    UnsupportedRequest,
)
from titocli.families.registry import all_contracts
from titocli.families.renderer import family_renderer
from titocli.families.tiny import tiny_tokenizer
from titocli.session.generation import FinishReason
from titocli.session.history import HistoryPolicy
from titocli.session.limits import ContextLengthExceeded, SessionLimits
from titocli.session.session import Session

WITH_TEMPLATES = [each for each in all_contracts() if each.template or each.encoder]
LINEAR, TREE = HistoryPolicy.LINEAR, HistoryPolicy.TREE
U1, A1, A1_AGAIN, A2, A3 = user("What is 1+2?"), *map(assistant, ("three", "surely three", "done", "end"))
T1, T1_OTHER, T2 = tool("tool-result-1"), tool("another result"), tool("tool-result-2", "t1")


def transcript(policy: HistoryPolicy, family: str = "qwen3", **settings: Any) -> Transcript:
    return Transcript(Session(renderer_of(family), policy, **settings))


def records(of: Transcript) -> list[list[Any]]:
    """The messages of each record that a client is shown: the turns of the head's path."""
    tree = of.session.tree
    return [tree.messages(turn.id)[:-1] for turn in tree.path(of.session.head)]


def parents(of: Transcript) -> list[int | None]:
    return [turn.parent for turn in of.session.tree]


def two_turns(policy: HistoryPolicy, family: str = "qwen3") -> Transcript:
    of = transcript(policy, family)
    of.turn([U1], A1)
    of.turn([U1, A1, T1], A2)
    return of


@pytest.mark.regression("R1")
@pytest.mark.parametrize("policy", list(HistoryPolicy))
def test_a_retry_of_the_first_turn_starts_afresh_and_the_session_goes_on(policy: HistoryPolicy) -> None:
    of = transcript(policy)
    of.turn([U1], A1)
    of.turn([U1], A1_AGAIN)
    assert records(of) == [[U1]]

    of.turn([U1, A1_AGAIN, T1], A2)

    assert records(of) == [[U1], [U1, A1_AGAIN, T1]]
    assert parents(of) == [None, None, 1]


@pytest.mark.regression("R2")
def test_a_lost_reply_and_its_retry_are_one_turn_of_a_line_and_two_siblings_of_a_tree() -> None:
    line, tree = (two_turns(policy) for policy in (LINEAR, TREE))
    for of in (line, tree):
        of.turn([U1, A1, T1], A3)
        assert parents(of) == [None, 0, 0]
        assert records(of) == [[U1], [U1, A1, T1]]

    assert line.session.leaves() == (2,)
    assert tree.session.leaves() == (1, 2)


@pytest.mark.regression("R2b")
@pytest.mark.parametrize("policy", list(HistoryPolicy))
def test_resending_the_whole_conversation_generates_once_more_after_it(policy: HistoryPolicy) -> None:
    of = transcript(policy)
    first = of.turn([U1], A1)
    before = of.session.tree.ids(first.id).tolist()
    plan = of.plan([U1, A1])
    of.commit(plan, of.completion(A1_AGAIN))

    tokenizer = of.session.renderer.tokenizer
    assert plan.prompt_ids.tolist()[: len(before)] == before
    assert tokenizer.decode(plan.prompt_ids[len(before) :]) == "\n<|im_start|>assistant\n"
    assert len(records(of)) == 2
    assert of.session.tree.messages(1) == [U1, A1, A1_AGAIN]


@pytest.mark.regression("R3")
@pytest.mark.parametrize("policy", list(HistoryPolicy))
@pytest.mark.parametrize("refused", ["role", "input_ids"])
def test_a_refused_retry_discards_nothing(policy: HistoryPolicy, refused: str) -> None:
    of = two_turns(policy, "qwen35")
    before = snapshot(of.session)

    if refused == "role":
        with pytest.raises(RoleNotAppendable) as error:
            of.plan([U1, A1, {"role": "developer", "content": "x"}])
        assert error.value.details["message_index"] == 2
    else:
        with pytest.raises(UnsupportedRequest) as forbidden:
            of.plan([U1, A1, T1_OTHER], options={"input_ids": [1]})
        assert forbidden.value.details["param"] == "input_ids"

    assert snapshot(of.session) == before
    assert of.turn([U1, A1, T1, A2, T2], A3).parent == 1


@pytest.mark.regression("R3b")
def test_discarding_two_turns_is_refused_by_a_line_and_a_branch_of_a_tree() -> None:
    line, tree = (two_turns(policy) for policy in (LINEAR, TREE))
    for of in (line, tree):
        of.turn([U1, A1, T1, A2, T2], A3)
    before = snapshot(line.session)

    with pytest.raises(RollbackTooDeep) as refused:
        line.plan([U1, A1, T1_OTHER])

    assert refused.value.http_status == 400
    assert refused.value.details == {
        "discarded": 2,
        "stored_turns": 3,
        "stored_messages": 6,
        "request_messages": 3,
    }
    assert snapshot(line.session) == before
    assert line.turn([U1, A1, T1, A2, T2, A3, user("more")], A1).parent == 2
    assert tree.turn([U1, A1, T1_OTHER], A3).parent == 0


@pytest.mark.regression("R3c")
@pytest.mark.parametrize("policy", list(HistoryPolicy))
def test_an_assistant_message_of_the_client_is_no_turn_to_roll_back_to(policy: HistoryPolicy) -> None:
    few_shot = [U1, assistant("few-shot answer"), user("and 2+3?")]
    of = transcript(policy)
    of.turn(few_shot, A1)
    of.turn([*few_shot, A1, T1], A2)
    of.turn([*few_shot, A1, T1_OTHER], A3)

    assert records(of) == [few_shot, [*few_shot, A1, T1_OTHER]]
    assert parents(of) == [None, 0, 0]


@pytest.mark.regression("R3d")
@pytest.mark.hazard(1)
@pytest.mark.parametrize("policy", list(HistoryPolicy))
def test_a_valid_retry_that_the_engine_fails_keeps_the_turn_it_would_have_replaced(
    policy: HistoryPolicy,
) -> None:
    of = two_turns(policy)
    before = snapshot(of.session)
    with pytest.raises(ConnectionError), of.session.generating(of.plan([U1, A1, T1_OTHER])):
        raise ConnectionError

    assert snapshot(of.session) == before
    assert len(records(of)) == 2
    assert of.turn([U1, A1, T1, A2, T2], A3).parent == 1


@pytest.mark.regression("R4")
def test_a_branch_that_fails_does_not_change_what_is_shown() -> None:
    of = two_turns(TREE)
    ids = of.session.tree.ids(of.session.head).tolist()
    with pytest.raises(ConnectionError), of.session.generating(of.plan([U1, A1, T1_OTHER])):
        raise ConnectionError

    assert len(records(of)) == 2
    assert of.session.head == 1
    assert of.session.tree.ids(of.session.head).tolist() == ids


@pytest.mark.regression("R5")
@pytest.mark.parametrize("policy", list(HistoryPolicy))
def test_an_aborted_generation_is_no_turn(policy: HistoryPolicy) -> None:
    of = transcript(policy)
    with pytest.raises(EngineAborted) as aborted, of.session.generating(of.plan([U1])):
        raise EngineAborted("the engine aborted")

    assert aborted.value.http_status == 503
    assert (records(of), of.session.in_flight) == ([], 0)
    assert of.turn([U1], A1).parent is None


@pytest.mark.regression("R14")
@pytest.mark.parametrize("policy", list(HistoryPolicy))
def test_blocks_that_only_the_stored_message_has_stay_when_its_projection_is_replayed(
    policy: HistoryPolicy,
) -> None:
    blocks = [{"type": "tool_use", "name": "f", "recipient": "functions.f"}]
    of = transcript(policy)
    of.turn([U1], {**A1, "content_blocks": blocks})
    plan = of.plan([U1, A1, user("and?")])

    assert plan.parent == 0
    assert plan.messages[1]["content_blocks"] == blocks


@pytest.mark.regression("R19")
@pytest.mark.parametrize("family", WITH_TEMPLATES, ids=lambda family: f"{family.name}-{family.variant}")
@pytest.mark.parametrize("arguments", ['{"a":', "", "[1]", '{"a":1,"a":2}', "\ud800", '{"a":NaN}', "null"])
def test_arguments_that_are_no_json_never_end_a_session(family: Any, arguments: str) -> None:
    call = {"id": "functions.f:0", "type": "function", "function": {"name": "f", "arguments": arguments}}
    said = assistant("", tool_calls=[call], reasoning_content="hm")
    of = Transcript(Session(family_renderer(family, tiny_tokenizer(family)), TREE))
    of.commit(of.plan([U1]), of.completion(said, stop=False))

    appended = of.plan([U1, said, tool("no such tool", "functions.f:0")])
    again = of.plan([user("a restart"), said, tool("no such tool", "functions.f:0")])

    assert (appended.parent, again.parent) == (0, None)


@pytest.mark.regression("R20")
@pytest.mark.parametrize("policy", list(HistoryPolicy))
def test_a_full_session_is_refused_before_the_engine_counting_what_is_in_flight(
    policy: HistoryPolicy,
) -> None:
    of = transcript(policy, limits=SessionLimits(max_turns=2))
    of.turn([U1], A1)
    first, second = of.plan([U1, A1, T1]), of.plan([U1, A1, T1])
    with of.session.generating(first):
        with pytest.raises(SessionLimit) as full:
            of.plan([U1, A1, T1])
        assert full.value.details == {"max_turns": 2, "turns": 1, "in_flight": 1}
        assert full.value.http_status == 409
        with pytest.raises(SessionLimit), of.session.generating(second):
            pytest.fail("the engine would run")
        of.commit(first, of.completion(A2))
        assert of.session.in_flight == 0

    with pytest.raises(SessionLimit):
        of.plan([U1, A1, T1])
    assert len(of.session.tree) == 2


def test_a_place_that_an_aborted_generation_held_is_free_again() -> None:
    of = transcript(TREE, limits=SessionLimits(max_turns=1))
    with pytest.raises(EngineAborted), of.session.generating(of.plan([U1])):
        raise EngineAborted("the engine aborted")

    assert of.turn([U1], A1).id == 0


def test_the_tokens_of_a_session_are_bounded_with_those_in_flight() -> None:
    prompt = len(transcript(TREE).plan([U1]).prompt_ids)
    of = transcript(TREE, limits=SessionLimits(max_tokens=2 * prompt + 30))
    with of.session.generating(of.plan([U1], options={"max_tokens": 20})):
        with pytest.raises(SessionLimit) as full:
            of.plan([U1], options={"max_completion_tokens": 11, "max_tokens": 1})
        other = of.plan([U1], options={"max_tokens": 10})
        with of.session.generating(other):
            turn = of.commit(other, of.completion(A1))

    assert full.value.details == {
        "max_tokens": 2 * prompt + 30,
        "held_tokens": prompt + 20,
        "new_tokens": prompt + 11,
    }
    assert of.session.stored_tokens == turn.token_count
    assert of.plan([U1], options={"max_tokens": 21}).parent is None


def test_a_prompt_and_what_is_asked_for_must_fit_the_context() -> None:
    prompt = len(transcript(TREE).plan([U1]).prompt_ids)
    of = transcript(TREE, limits=SessionLimits(max_context_tokens=prompt + 10))
    assert of.plan([U1], options={"max_tokens": 10}).parent is None
    assert of.plan([U1]).parent is None

    with pytest.raises(ContextLengthExceeded) as refused:
        of.plan([U1], options={"max_tokens": 11})
    with pytest.raises(ContextLengthExceeded):
        of.plan([user("What is 1+2? 3+4? 5+6?")])

    assert refused.value.details == {
        "prompt_tokens": prompt,
        "max_tokens": 11,
        "max_context_tokens": prompt + 10,
    }
    assert (refused.value.code, refused.value.http_status) == ("context_length_exceeded", 400)


@pytest.mark.regression("R24")
def test_where_edited_follow_ups_and_roots_attach() -> None:
    of = transcript(TREE)
    of.turn([U1], A1)
    of.turn([U1, A1, T1], A2)
    of.turn([U1, A1, T1_OTHER], A2)
    of.turn([U1], A1_AGAIN)
    of.turn([user("else")], A1)

    assert parents(of) == [None, 0, 0, None, None]
    assert of.session.leaves() == (1, 2, 3, 4)


@pytest.mark.regression("R29")
def test_a_path_that_ended_at_a_length_limit_is_closed_and_its_parent_is_not() -> None:
    of = transcript(TREE)
    of.turn([U1], A1)
    of.turn([U1, A1, T1], A2, finish_reason=FinishReason.LENGTH)
    before = snapshot(of.session)

    with pytest.raises(TruncatedPath) as closed:
        of.plan([U1, A1, T1, A2, T2])

    assert (closed.value.http_status, closed.value.details) == (409, {"turn": 1})
    assert snapshot(of.session) == before
    assert of.turn([U1, A1, T1], A3).parent == 0


def test_a_line_goes_on_after_a_length_limit() -> None:
    of = transcript(LINEAR)
    of.turn([U1], A1, finish_reason=FinishReason.LENGTH)

    assert of.turn([U1, A1, user("go on")], A2).parent == 0


@pytest.mark.regression("R30")
@pytest.mark.hazard(3)
def test_concurrent_requests_are_siblings_of_a_tree_and_one_turn_of_a_line() -> None:
    line, tree = transcript(LINEAR), transcript(TREE)
    told = []
    for of in (line, tree):
        of.turn([U1], A1)
        for plan in reversed([of.plan([U1, A1, T1]) for _ in range(4)]):
            try:
                of.commit(plan, of.completion(A2))
            except StaleCommit as stale:
                told.append(stale)

    assert parents(tree) == [None, 0, 0, 0, 0]
    assert parents(line) == [None, 0]
    assert [(each.http_status, each.details) for each in told] == [(409, {"planned_head": 0, "head": 1})] * 3


@pytest.mark.hazard(2)
def test_a_line_that_was_rolled_back_to_as_many_turns_is_another_line() -> None:
    of = two_turns(LINEAR)
    slow = of.plan([U1, A1, T1, A2, T2])
    of.turn([U1, A1, T1], A2)  # the same messages, the same number of turns: another turn
    before = snapshot(of.session)

    with pytest.raises(StaleCommit):
        of.commit(slow, of.completion(A3))

    assert snapshot(of.session) == before
    assert of.turn([U1, A1, T1, A2, T2], A3).parent == 2


@pytest.mark.hazard(2)
def test_a_stale_retry_of_the_first_turn_is_told() -> None:
    of = transcript(LINEAR)
    of.turn([U1], A1)
    retry = of.plan([U1])
    of.turn([U1, A1, T1], A2)

    with pytest.raises(StaleCommit):
        of.commit(retry, of.completion(A1_AGAIN))
    assert len(records(of)) == 2


@pytest.mark.hazard(6)
def test_a_turn_stores_what_is_new_and_nothing_twice() -> None:
    of = transcript(LINEAR)
    messages: list[Any] = [U1]
    for number in range(50):
        reply = assistant(f"reply {number}")
        of.turn(messages, reply)
        messages = [*messages, reply, user(f"and {number}?")]
    tree = of.session.tree

    assert sum(len(turn.messages) for turn in tree) == len(messages) - 1
    assert sum(len(turn.prompt_delta) + len(turn.completion.ids) for turn in tree) == len(tree.ids(49))
    assert of.session.stored_tokens == len(tree.ids(49))


@pytest.mark.hazard(15)
@pytest.mark.parametrize("policy", list(HistoryPolicy))
def test_no_text_of_a_conversation_is_in_an_error(policy: HistoryPolicy) -> None:
    secret = "the-secret-of-the-prompt"
    of = transcript(policy, "qwen35", limits=SessionLimits(max_context_tokens=300))
    stored = [user(secret), assistant(secret), user(secret), assistant(secret)]
    of.turn(stored[:1], assistant(secret))
    of.turn(stored[:3], assistant(secret), finish_reason=FinishReason.LENGTH)
    bad: list[list[Any]] = [
        [*stored, {"role": "system", "content": secret}],
        [*stored, user(secret * 20)],
        [*stored, assistant(secret)],
        [user("other"), tool(secret, "x")],
        [{"role": "user", "content": [{"type": "text", "text": [secret]}]}],
    ]
    for messages in bad:
        with pytest.raises(Exception) as refused:  # noqa: PT011 - whatever it is, it tells nothing
            of.plan(messages)
        told = repr(refused.value) + repr(vars(refused.value))
        assert secret not in told


@pytest.mark.hazard(22)
def test_a_carried_assistant_message_is_text_of_the_prompt() -> None:
    of = two_turns(TREE)
    compacted = [user("summary"), A2, user("go on")]
    plan = of.plan(compacted)

    text = of.session.renderer.tokenizer.decode(plan.prompt_ids)
    assert plan.parent is None
    assert "<|im_start|>assistant\ndone<|im_end|>" in text or "done<|im_end|>" in text


@pytest.mark.case("c22")
@pytest.mark.case("b22")
@pytest.mark.parametrize("policy", list(HistoryPolicy))
def test_a_turn_cannot_be_prefilled(policy: HistoryPolicy) -> None:
    of = two_turns(policy)
    before = snapshot(of.session)
    for messages in ([U1, A1, assistant("The answer is")], [U1, A1, T1, A2, T2, assistant("so")]):
        with pytest.raises(UnsupportedRequest) as refused:
            of.plan(messages)
        assert refused.value.details == {"param": "messages", "message_index": len(messages) - 1}

    assert snapshot(of.session) == before


CALLS = [{"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}} for n in range(2)]
CALLING = assistant("", tool_calls=CALLS)


@pytest.mark.case("c23")
@pytest.mark.parametrize(
    ("appended", "index", "call"),
    [
        ([tool("r", "zz")], 2, "zz"),
        ([tool("r", "c0"), tool("r", "c0")], 3, "c0"),
        ([tool("r", "c0"), CALLING, tool("r", "c0"), tool("r", "x")], 5, "x"),
        ([assistant("", tool_calls=[CALLS[0], CALLS[0]]), user("x")], 2, "c0"),
    ],
)
def test_a_result_without_its_call_and_a_second_result_are_refused(
    appended: Any, index: int, call: str
) -> None:
    of = transcript(TREE)
    of.turn([U1], CALLING)
    for history in ([U1, CALLING], [user("other"), CALLING]):
        with pytest.raises(InvalidMessages) as refused:
            of.plan([*history, *appended])
        assert refused.value.details == {"message_index": index, "tool_call_id": call}
        assert call in refused.value.message


@pytest.mark.case("c23")
@pytest.mark.parametrize(
    "appended",
    [
        [user("stop, do something else")],
        [tool("r", "c1"), user("stop")],
        [user("wait"), tool("r", "c0")],
        [tool("r", "c0"), CALLING, tool("r", "c0"), tool("r", "c1")],
        [{"role": "tool", "content": "without an id"}],
    ],
)
def test_interrupted_calls_and_ids_that_come_again_are_fine(appended: Any) -> None:
    of = transcript(TREE)
    of.turn([U1], CALLING)

    assert of.plan([U1, CALLING, *appended]).parent == 0
    assert of.plan([user("other"), CALLING, *appended]).parent is None


@pytest.mark.case("c23")
@pytest.mark.parametrize("family", ["deepseekv32", "deepseekv4", "deepseekv41"])
def test_where_calls_need_results_an_interrupted_call_is_refused(family: str) -> None:
    of = transcript(TREE, family)
    of.turn([U1], CALLING)
    results = [tool("interrupted", "c0"), tool("interrupted", "c1")]
    for history in ([U1, CALLING], [user("other"), CALLING]):
        for appended in ([user("stop")], [results[1], user("stop")]):
            with pytest.raises(InvalidMessages) as refused:
                of.plan([*history, *appended])
            missing = ["c0", "c1"] if len(appended) == 1 else ["c0"]
            assert refused.value.details == {"missing_tool_call_ids": missing}
        assert of.plan([*history, *results, user("stop")]).generation_prompt
    assert of.plan([U1, CALLING]).parent == 0


def test_a_result_of_a_call_that_could_not_be_parsed_is_fine_but_not_before_any_assistant() -> None:
    of = transcript(TREE)
    of.turn([U1], A1)

    assert of.plan([U1, A1, tool("could not be parsed", "none")]).parent == 0
    with pytest.raises(InvalidMessages):
        of.plan([U1, tool("r", "none")])


@pytest.mark.case("b10")
def test_a_result_that_comes_after_its_turn_is_a_branch_or_refused_and_never_spliced_in() -> None:
    of = transcript(TREE)
    of.turn([U1], CALLING)
    of.turn([U1, CALLING, tool("r0", "c0")], A2)

    assert of.plan([U1, CALLING, tool("r0", "c0"), tool("r1", "c1")]).parent == 0
    with pytest.raises(InvalidMessages):
        of.plan([U1, CALLING, tool("r0", "c0"), CALLING, tool("r", "c9")])


@pytest.mark.case("b12")
@pytest.mark.case("b13")
@pytest.mark.case("b26")
def test_another_head_of_the_conversation_is_a_path_of_its_own_and_the_old_one_stays() -> None:
    of = two_turns(TREE)
    old = [turn.completion.ids.tolist() for turn in of.session.tree]
    compacted = of.turn([user("summary of it all"), user("go on")], A3)
    dated = of.turn([{"role": "system", "content": "today is 02"}, U1, A1, T1], A3)

    assert (compacted.parent, dated.parent) == (None, None)
    assert [turn.completion.ids.tolist() for turn in of.session.tree][:2] == old
    assert of.session.leaves() == (1, 2, 3)
