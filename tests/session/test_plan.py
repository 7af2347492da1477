"""What the engine is asked to read."""

from __future__ import annotations

import pytest

from titocli.errors import InvalidMessages, RoleNotAppendable
from titocli.session.generation import FinishReason
from titocli.session.history import HistoryPolicy
from titocli.session.session import Session

from .conftest import Transcript, assistant, renderer_of, snapshot, tool, user

U, A = user("hello"), assistant("hi")


def decoded(session: Session, ids: object) -> str:
    return session.renderer.tokenizer.decode(ids)  # type: ignore[arg-type] # any sequence of ids does


def test_a_root_prompt_is_the_whole_render(linear: Transcript) -> None:
    plan = linear.plan([U])

    assert decoded(linear.session, plan.prompt_ids) == (
        "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n"
    )
    assert plan.generation_prompt == "<|im_start|>assistant\n"


def test_an_append_adds_the_boundary_newline_and_the_suffix_to_the_stored_ids(linear: Transcript) -> None:
    root = linear.turn([U], A)
    plan = linear.plan([U, A, user("more")])

    assert plan.prompt_ids[: root.token_count] == linear.session.tree.ids(root.id)
    assert decoded(linear.session, plan.prompt_delta) == (
        "\n<|im_start|>user\nmore<|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_turn_that_was_cut_off_is_closed_before_a_message_is_appended(linear: Transcript) -> None:
    plan = linear.plan([U])
    linear.commit(plan, linear.completion(A, stop=False))

    appended = linear.plan([U, A, user("more")]).prompt_delta

    assert decoded(linear.session, appended).startswith("<|im_end|>\n<|im_start|>user")


def test_a_truncated_turn_of_a_line_is_continued_as_it_is(linear: Transcript) -> None:
    turn = linear.turn([U], A, finish_reason=FinishReason.LENGTH)
    plan = linear.plan([U, A, user("more")])

    assert plan.prompt_ids[: turn.token_count] == linear.session.tree.ids(turn.id)


def test_the_stored_spelling_of_a_replayed_message_stays(linear: Transcript) -> None:
    linear.turn([U], A)
    replayed = {**A, "refusal": None, "tool_calls": None}
    plan = linear.plan([U, replayed, user("more")])

    assert list(plan.messages) == [U, A, user("more")]


def test_a_run_of_tool_results_is_one_user_turn(linear: Transcript) -> None:
    linear.turn([U], A)
    plan = linear.plan([U, A, tool("one"), tool("two", "t1")])

    assert decoded(linear.session, plan.prompt_delta) == (
        "\n<|im_start|>user\n<tool_response>\none\n</tool_response>\n<tool_response>\ntwo\n</tool_response>"
        "<|im_end|>\n<|im_start|>assistant\n"
    )


@pytest.mark.parametrize("name", ["qwen35", "qwen36", "qwen38small", "qwen4exp"])
def test_a_role_that_the_family_cannot_append_is_refused(name: str) -> None:
    transcript = Transcript(Session(renderer_of(name), HistoryPolicy.TREE))
    transcript.turn([U], A)
    before = snapshot(transcript.session)

    with pytest.raises(RoleNotAppendable) as refused:
        transcript.plan([U, A, {"role": "system", "content": "be brief"}])

    assert refused.value.details["message_index"] == 2
    assert snapshot(transcript.session) == before


def test_a_developer_message_is_appended_as_a_system_message(linear: Transcript) -> None:
    linear.turn([U], A)
    plan = linear.plan([U, A, {"role": "developer", "content": "be brief"}])

    assert "<|im_start|>system\nbe brief<|im_end|>" in decoded(linear.session, plan.prompt_delta)


@pytest.mark.parametrize(
    "messages", [None, "text", {}, [], [1], [{"content": "no role"}], [{"role": "king"}]]
)
def test_what_is_no_conversation_is_refused(linear: Transcript, messages: object) -> None:
    with pytest.raises(InvalidMessages):
        linear.plan(messages)  # type: ignore[arg-type] # no request on purpose


def test_a_stored_message_that_is_odd_does_not_stop_the_session() -> None:
    transcript = Transcript(Session(renderer_of("qwen35"), HistoryPolicy.TREE))
    broken = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":'}}
    reply = assistant("", tool_calls=[broken])
    transcript.turn([U], reply)

    assert transcript.plan([U, reply, tool("no such call", "c")]).parent == 0


def test_work_is_counted_and_does_not_grow_with_the_history(linear: Transcript) -> None:
    messages = [user("long " * 1000)]
    linear.turn(messages, A)
    first = linear.plan([*messages, A, user("x")]).work
    grown = [*messages, A, user("long " * 1000)]
    linear.turn(grown, A)
    second = linear.plan([*grown, A, user("x")]).work

    assert first.encoded_bytes == second.encoded_bytes < 200
    assert first.template_renders == second.template_renders == 2
    assert second.copied_tokens > first.copied_tokens > 5000
