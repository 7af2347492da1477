"""Whether stored ids say what a canonical render says."""

from __future__ import annotations

from array import array
from typing import Any

import pytest

from titocli.errors import InvalidMessages
from titocli.session.generation import Completion, FinishReason
from titocli.session.history import HistoryPolicy
from titocli.session.mismatch import path_mismatches
from titocli.session.session import Session
from titocli.tokens.comparator import MismatchType
from titocli.tokens.ids import token_ids

from .conftest import Transcript, assistant, renderer_of, tool, user

U = user("hello")
THOUGHT = "<think>\nsure\n</think>\n\nhi"
REPLY = assistant("hi", reasoning_content="sure")


def transcript(family: str = "qwen3") -> Transcript:
    return Transcript(Session(renderer_of(family), HistoryPolicy.TREE))


def sampled(of: Transcript, text: str, message: dict[str, Any], finish: str = "stop") -> Completion:
    ids = token_ids(of.session.renderer.tokenizer.encode(text))
    return Completion(
        ids=ids,
        log_probs=array("d", bytes(8 * len(ids))),
        finish_reason=FinishReason(finish),
        message=message,
        response_id="r",
        model="m",
    )


def mismatches(of: Transcript) -> list[MismatchType]:
    assert of.session.head is not None
    return [mismatch.type for mismatch in path_mismatches(of.session, of.session.head)]


def test_a_canonical_conversation_has_none() -> None:
    session = transcript()
    session.commit(session.plan([U]), sampled(session, THOUGHT + "<|im_end|>", REPLY))
    plan = session.plan([U, REPLY, tool("x"), user("and?")])
    session.commit(plan, sampled(session, THOUGHT + "<|im_end|>", REPLY))

    assert mismatches(session) == []


def test_the_models_own_spelling_is_soft() -> None:
    session = transcript()
    session.commit(session.plan([U]), sampled(session, "<think>sure</think>hi<|im_end|>", REPLY))

    assert mismatches(session) == [MismatchType.ASSISTANT_TEXT]


def test_another_stop_token_is_hard() -> None:
    session = transcript()
    session.commit(session.plan([U]), sampled(session, THOUGHT + "<|endoftext|>", REPLY))

    assert mismatches(session) == [MismatchType.SPECIAL_TOKEN_TYPE]


@pytest.mark.parametrize("family", ["qwen3", "qwen35", "qwen4exp"])
def test_a_truncated_turn_is_compared_without_the_end_that_it_never_wrote(family: str) -> None:
    session = transcript(family)
    cut = THOUGHT.removeprefix("" if family == "qwen3" else "<think>\n")
    session.commit(session.plan([U]), sampled(session, cut, REPLY, "length"))

    assert mismatches(session) == []


def test_the_render_uses_the_arguments_of_the_turn() -> None:
    session = transcript("qwen4exp")
    plan = session.plan([U], reasoning_effort="low", tools=[{"name": "f"}])
    session.commit(plan, sampled(session, "sure\n</think>\n\nhi<|im_end|>", REPLY))

    assert mismatches(session) == []


def test_what_cannot_be_rendered_is_an_error_and_not_a_clean_session() -> None:
    session = transcript("qwen35")
    reply = assistant("", tool_calls=["f()"])
    session.commit(session.plan([U]), sampled(session, "x<|im_end|>", reply))

    with pytest.raises(InvalidMessages):
        mismatches(session)
