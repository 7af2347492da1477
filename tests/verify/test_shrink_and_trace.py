"""Small conversations, and the lines of a template."""

from __future__ import annotations

import pytest

from tests.verify.subjects import PLAIN, call, events, failures, message, plain, unknown
from titocli.families.chat_template import compile_template
from titocli.families.family import Role
from titocli.families.registry import get_family
from titocli.families.template_source import TemplateSource, shipped_template
from titocli.verify.checks.catalogue import CHECKS
from titocli.verify.contract import Contract
from titocli.verify.events import Case, CheckId
from titocli.verify.schedules import MORE, TOOLS, TRAJECTORIES, schedules
from titocli.verify.shrink import shrink
from titocli.verify.states import States
from titocli.verify.trace import TracedTemplate

LONG = tuple(
    one
    for n in range(4)
    for one in (
        message("user", f"a long question {n}"),
        message(
            "assistant", "", reasoning_content="thought", tool_calls=[call("f", n, a=1), call("g", n, b=2)]
        ),
        message("tool", "one", tool_call_id=f"functions.f:{n}"),
        message("tool", "two", tool_call_id=f"functions.g:{n}"),
        message("assistant", f"answer {n}"),
    )
)


def smallest(contract: Contract, check: CheckId, case: Case) -> Case:
    states = States(contract, case)
    finding = CHECKS[check].find(states)
    assert finding is not None
    small = shrink(contract, CHECKS[check], states, finding)
    assert CHECKS[check].find(small.states) == small.finding
    assert small.finding.kind is finding.kind
    return small.states.case


def test_everything_that_does_not_matter_is_left_out() -> None:
    contract = plain(("{{ m.content }}", "{{ m.content if loop.last else 'gone' }}"))
    case = Case(name="long", messages=LONG, tools=TOOLS, kwargs={"enable_thinking": True})
    small = smallest(contract, CheckId.APPEND_ONLY, case)
    assert (small.name, small.tools, dict(small.kwargs)) == ("long", None, {})
    assert len(small.messages) <= 3
    assert all(one["content"] in ("", "x") for one in small.messages)


def test_a_result_never_stands_without_its_call() -> None:
    contract = plain(("{{ m.content }}", "{{ m.content ~ (messages | length if m.role == 'tool') }}"))
    small = smallest(contract, CheckId.APPEND_ONLY, Case(name="long", messages=LONG))
    roles = [one["role"] for one in small.messages]
    assert "tool" in roles
    assert roles[roles.index("tool") - 1] == "assistant"
    assert roles[0] == "user"
    calls = [one["tool_calls"] for one in small.messages if one.get("tool_calls")]
    assert [len(each) for each in calls] == [1] * len(calls)  # type: ignore[arg-type]  # a list, by LONG


def test_what_matters_stays() -> None:
    contract = plain(
        ("{{ m.content }}", "{{ m.content }}{{ messages | length if tools and m.reasoning_content }}")
    )
    small = smallest(contract, CheckId.APPEND_ONLY, Case(name="long", messages=LONG, tools=TOOLS))
    assert len(small.tools or ()) == 1
    assert any(one.get("reasoning_content") for one in small.messages)


@pytest.mark.parametrize("name", ["qwen3", "glm53", "nemotron3", "inkling", "kimi25"])
def test_a_traced_template_prints_what_the_template_prints(name: str) -> None:
    family = get_family(name)
    source = shipped_template(str(family.template))
    from titocli.families.messages import normalise_messages

    for schedule in schedules(family):
        messages = normalise_messages(family, schedule.messages())
        given = {"messages": messages, "tools": list(schedule.tools() or ()), "add_generation_prompt": True}
        traced = TracedTemplate(source)
        text = compile_template(source).render(**given, **family.fixed_kwargs)  # type: ignore[arg-type]  # by name
        assert traced.render(**given, **family.fixed_kwargs) == text  # type: ignore[arg-type]  # by name
        assert traced.pieces[-1][0] == len(text)


def test_a_character_belongs_to_the_line_that_printed_it() -> None:
    source = TemplateSource(
        "t", "one\n{% for m in messages %}\n  {{ m.role }}\n{{- 'x' }}\n{% endfor %}\nlast\nline\n"
    )
    traced = TracedTemplate(source)
    text = traced.render(messages=[message("user")])
    assert text == "one\n  userx\nlast\nline"
    for word, line in (("one", 1), ("user", 3), ("x", 4), ("last", 6), ("line", 7)):
        found = traced.line_of(text.index(word))
        assert found is not None
        assert found.line == line, word


def test_a_failure_names_the_lines_of_both_texts() -> None:
    text = PLAIN.replace(
        "{{ m.content }}", "\n{% if loop.last %}\n{{ m.content }}\n{% else %}\n{{ 'gone' }}\n{% endif %}\n"
    )
    (failure, *_) = failures(events(unknown(text), checks=(CheckId.APPEND_ONLY,)))
    assert failure.at.template is not None
    assert failure.at.actual_template is not None
    lines = text.split("\n")
    assert "gone" in failure.at.actual_template.text
    assert lines[failure.at.template.line - 1] == failure.at.template.text


def test_the_seventeen_trajectories_are_there_with_their_positions() -> None:
    assert len(TRAJECTORIES) == 17
    assert {each.name: each.positions for each in TRAJECTORIES}["multi_user_tool_chain"] == (3, 5, 7, 9)
    assert len({each.name for each in (*TRAJECTORIES, *MORE)}) == len(TRAJECTORIES) + len(MORE)


@pytest.mark.parametrize("schedule", TRAJECTORIES, ids=lambda each: each.name)
def test_every_position_of_a_trajectory_is_a_state_that_is_checked(schedule: object) -> None:
    from titocli.verify.schedules import Schedule

    assert isinstance(schedule, Schedule)
    states = States(plain(), Case(name="t", messages=schedule.messages(), tools=schedule.tools()))
    assert all(states.is_settled(end) for end in schedule.positions if end <= len(schedule.words))
    assert {end for end in schedule.positions if end < len(schedule.words)} <= {
        end
        for end in range(1, len(schedule.words))
        if list(states.states_after(end)) and states.is_settled(end)
    }


def test_a_family_gets_the_schedules_that_it_can_append() -> None:
    names = {each.name for each in schedules(get_family("qwen36"))}
    assert "multi_turn" in names
    assert "retry_system" not in names
    everything = {each.name for each in schedules(get_family("qwen3"))}
    assert everything == {each.name for each in (*TRAJECTORIES, *MORE)}


def test_the_roles_that_a_schedule_appends_are_read_off_its_shape() -> None:
    by_name = {each.name: each.append_roles for each in (*TRAJECTORIES, *MORE)}
    assert by_name["single_tool"] == {Role.TOOL}
    assert by_name["multi_user_tool_chain"] == {Role.TOOL, Role.USER}
    assert by_name["simple_no_tool"] == {Role.USER, Role.SYSTEM}
    assert by_name["assistant_input"] == {Role.USER, Role.ASSISTANT}
