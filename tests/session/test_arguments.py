"""Arguments of turns: layers, fixed and pinned kwargs, tools."""

from __future__ import annotations

from typing import Any

import pytest

from titocli.errors import ConflictingKwarg, InvalidTools, PinnedKwarg, ToolsChanged, UnsupportedRequest
from titocli.session.history import HistoryPolicy
from titocli.session.session import Session

from .conftest import Transcript, assistant, renderer_of, snapshot, user

U, A, MORE = user("hello"), assistant("hi"), user("more")
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
CLOCK = {"type": "function", "function": {"name": "clock"}}


def transcript(name: str, **launch: Any) -> Transcript:
    return Transcript(Session(renderer_of(name), HistoryPolicy.TREE, launch_kwargs=launch))


def text(of: Transcript, plan: Any) -> str:
    return of.session.renderer.tokenizer.decode(plan.prompt_ids)


def test_a_request_wins_over_the_launch_and_a_later_turn_inherits_it() -> None:
    session = transcript("qwen3", enable_thinking=True)
    session.turn([U], A, template_kwargs={"enable_thinking": False})
    inherited = session.plan([U, A, MORE])

    assert inherited.arguments.template_kwargs["enable_thinking"] is False
    assert inherited.generation_prompt.endswith("<think>\n\n</think>\n\n")


def test_launch_kwargs_reach_the_first_turn() -> None:
    plan = transcript("qwen3", enable_thinking=False).plan([U])

    assert plan.generation_prompt.endswith("<think>\n\n</think>\n\n")


@pytest.mark.parametrize(
    ("name", "kwarg", "value", "fixed"),
    [
        ("qwen3", "clear_thinking", True, False),
        ("qwen3", "clear_thinking", 0, False),
        ("qwennext", "clear_thinking", True, False),
        ("qwen35", "preserve_thinking", False, True),
        ("qwen36", "preserve_thinking", None, True),
        ("qwen38small", "preserve_thinking", 1, True),
        ("qwen4exp", "preserve_thinking", "true", True),
    ],
)
def test_a_fixed_kwarg_cannot_be_overridden(name: str, kwarg: str, value: Any, fixed: Any) -> None:
    session = transcript(name)

    with pytest.raises(ConflictingKwarg) as refused:
        session.plan([U], template_kwargs={kwarg: value})

    assert refused.value.details == {"family": name, "kwarg": kwarg, "fixed": fixed, "given": value}
    assert all(part in refused.value.message for part in (name, kwarg, repr(fixed), repr(value)))


def test_a_fixed_kwarg_may_be_given_with_its_own_value() -> None:
    plan = transcript("qwen3").plan([U], template_kwargs={"clear_thinking": False})

    assert plan.arguments.template_kwargs == {"clear_thinking": False}


@pytest.mark.parametrize("key", ["messages", "tools", "add_generation_prompt"])
def test_the_conversation_cannot_be_smuggled_in_as_a_kwarg(key: str) -> None:
    with pytest.raises(UnsupportedRequest):
        transcript("qwen3").plan([U], template_kwargs={key: []})


def test_reasoning_effort_is_pinned_by_the_first_turn() -> None:
    session = transcript("qwen4exp")
    session.turn([U], A, reasoning_effort="low")
    before = snapshot(session.session)

    with pytest.raises(PinnedKwarg) as refused:
        session.plan([U, A, MORE], reasoning_effort="medium")

    assert refused.value.details == {"kwarg": "reasoning_effort", "pinned": "low", "given": "medium"}
    assert snapshot(session.session) == before
    assert "effort is set to low" in text(session, session.plan([U, A, MORE], reasoning_effort="low"))


def test_an_absent_pinned_kwarg_stands_for_the_templates_default() -> None:
    session = transcript("qwen4exp")
    session.turn([U], A)

    assert session.plan([U, A, MORE], reasoning_effort="xhigh").parent == 0
    with pytest.raises(PinnedKwarg):
        session.plan([U, A, MORE], template_kwargs={"reasoning_effort": "low"})
    with pytest.raises(PinnedKwarg):
        session.plan([U, A, MORE], template_kwargs={"enable_thinking": False})


def test_another_path_of_the_same_tree_may_choose_again() -> None:
    session = transcript("qwen4exp")
    session.turn([U], A, reasoning_effort="low")

    root = session.plan([user("other")], reasoning_effort="medium")

    assert root.parent is None
    assert "effort is set to" not in text(session, root)


def test_reasoning_effort_is_refused_where_the_family_has_none() -> None:
    with pytest.raises(UnsupportedRequest):
        transcript("qwen3").plan([U], reasoning_effort="low")


def test_reasoning_effort_given_twice_must_agree() -> None:
    with pytest.raises(ConflictingKwarg):
        transcript("qwen4exp").plan(
            [U], reasoning_effort="low", template_kwargs={"reasoning_effort": "medium"}
        )


@pytest.mark.parametrize("again", [None, [], [WEATHER], [dict(reversed(WEATHER.items()))]])
def test_tools_are_inherited_and_may_be_repeated(again: Any) -> None:
    session = transcript("qwen3")
    session.turn([U], A, tools=[WEATHER])

    assert session.plan([U, A, MORE], tools=again).arguments.tools == (WEATHER,)


@pytest.mark.parametrize("other", [[CLOCK], [WEATHER, CLOCK]])
def test_tools_may_not_change_on_a_continued_path(other: Any) -> None:
    session = transcript("qwen3")
    session.turn([U], A, tools=[WEATHER])

    with pytest.raises(ToolsChanged):
        session.plan([U, A, MORE], tools=other)
    assert session.plan([user("other")], tools=other).parent is None


def test_tools_cannot_appear_on_a_path_that_began_without() -> None:
    session = transcript("qwen3")
    session.turn([U], A)

    with pytest.raises(ToolsChanged):
        session.plan([U, A, MORE], tools=[WEATHER])


@pytest.mark.parametrize("tools", ["weather", [1], [{}], [{"function": {}}], [{"function": {"name": 3}}]])
def test_what_are_no_tools_is_refused(tools: Any) -> None:
    with pytest.raises(InvalidTools):
        transcript("qwen3").plan([U], tools=tools)


def test_options_are_the_requests_own() -> None:
    session = transcript("qwen3")
    session.turn([U], A, options={"temperature": 0.5})

    assert session.plan([U, A, MORE]).arguments.options == {}
