"""Reported cases about histories that change: b12, b13, b16, b26."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.rendering import LABELS, assistant, renderer_of, user
from tests.cases.sessions import kept, plan_of, session_of, turn
from titocli.errors import RollbackTooDeep, ToolsChanged
from titocli.families.kwargs import resolve_kwargs
from titocli.families.messages import normalise_messages
from titocli.session.history import HistoryPolicy
from titocli.session.samples import samples


def system(text: str) -> Any:
    return {"role": "system", "content": text}


def fresh_ids(label: str, messages: list[Any]) -> list[int]:
    """The ids of a first render: nothing of a session in them."""
    renderer = renderer_of(label)
    marked = renderer.marked_text(
        normalise_messages(renderer.family, messages),
        kwargs=resolve_kwargs(renderer.family),
        generation_prompt=True,
    )
    return list(renderer.ids(marked))


@pytest.mark.parametrize("label", LABELS)
def test_b12_a_helper_in_the_same_session_gets_its_own_branch(label: str) -> None:
    main, helper = [system("main"), user()], [system("helper"), user("sub task")]
    session = session_of(label)
    first = turn(session, main, assistant("a1"))
    aside = turn(session, helper, assistant("h1"))
    plan = plan_of(session, [*main, assistant("a1"), user("v")])

    assert aside.parent is None
    assert kept(session, first, plan)
    assert list(session.tree.ids(aside.id)[: aside.prompt_length]) == fresh_ids(label, helper)
    turn(session, [*main, assistant("a1"), user("v")], assistant("a2"))
    assert len(samples(session)) == 2


@pytest.mark.parametrize("label", LABELS)
def test_b12_a_linear_session_gives_up_one_turn_at_most(label: str) -> None:
    session = session_of(label, policy=HistoryPolicy.LINEAR)
    turn(session, [user()], assistant("a1"))
    turn(session, [user(), assistant("a1"), user("v")], assistant("a2"))

    with pytest.raises(RollbackTooDeep) as refused:
        plan_of(session, [user("other")])
    assert refused.value.details["discarded"] == 2
    assert len(session.tree) == 2


@pytest.mark.parametrize("label", LABELS)
def test_b13_a_summary_starts_a_new_trajectory_and_the_old_one_stays(label: str) -> None:
    before = [system("s"), user("u1"), assistant("a1"), user("u2")]
    after = [system("s"), user("Summary: a1, a2 done. Continue.")]
    session = session_of(label)
    turn(session, before[:2], assistant("a1"))
    old = turn(session, before, assistant("a2"))
    plan = plan_of(session, after)

    assert plan.parent is None
    assert list(plan.prompt_ids) == fresh_ids(label, after)
    turn(session, after, assistant("a3"))
    assert [leaf.leaf for leaf in samples(session)] == [old.id, old.id + 1]


@pytest.mark.parametrize("label", LABELS)
def test_b26_a_new_date_in_the_head_is_a_new_trajectory(label: str) -> None:
    session = session_of(label)
    first = turn(session, [system("Today is 2031-01-01."), user()], assistant("a"))
    tail = [user(), assistant("a"), user("v")]

    assert plan_of(session, [system("Today is 2031-01-02."), *tail]).parent is None
    assert kept(session, first, plan_of(session, [system("Today is 2031-01-01."), *tail]))


def tool(name: str, **more: Any) -> Any:
    return {
        "type": "function",
        "function": {"name": name, "parameters": {"type": "object", "properties": {}}, **more},
    }


NEXT = [user(), assistant("a"), user("v")]


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize(
    "changed",
    [[tool("a"), tool("b")], [tool("a", description="d")], [tool("b")]],
    ids=["added", "described", "renamed"],
)
def test_b16_other_tools_on_a_path_are_refused(label: str, changed: list[Any]) -> None:
    session = session_of(label)
    turn(session, [user()], assistant("a"), tools=[tool("a")])

    with pytest.raises(ToolsChanged):
        plan_of(session, NEXT, tools=changed)


@pytest.mark.parametrize("label", LABELS)
def test_b16_tools_in_another_order_are_other_tools(label: str) -> None:
    session = session_of(label)
    turn(session, [user()], assistant("a"), tools=[tool("a"), tool("b")])

    with pytest.raises(ToolsChanged):
        plan_of(session, NEXT, tools=[tool("b"), tool("a")])


@pytest.mark.parametrize("label", LABELS)
def test_b16_keys_in_another_order_and_no_tools_are_the_tools_of_the_path(label: str) -> None:
    session = session_of(label)
    first = turn(session, [user()], assistant("a"), tools=[tool("a")])
    turned = {"function": dict(reversed(tool("a")["function"].items())), "type": "function"}

    for given in ([turned], None, []):
        plan = plan_of(session, NEXT, tools=given)
        assert kept(session, first, plan)
        assert list(plan.arguments.tools) == [tool("a")]
        assert list(plan.arguments.tools[0]) == ["type", "function"]


@pytest.mark.parametrize("label", LABELS)
def test_b16_a_new_conversation_may_have_other_tools(label: str) -> None:
    session = session_of(label)
    turn(session, [user()], assistant("a"), tools=[tool("a")])

    assert list(plan_of(session, [user("again")], tools=[tool("b")]).arguments.tools) == [tool("b")]
