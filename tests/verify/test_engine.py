"""The engine: which events come, in which order, and what they say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.verify.subjects import (
    PLAIN,
    events,
    failures,
    finished,
    held,
    message,
    of_family,
    plain,
    talk,
    unknown,
)
from titocli.errors import TemplateRaised, TemplateSyntax, TemplateUnbounded
from titocli.families.chat_template import compile_template
from titocli.families.registry import all_contracts, get_family
from titocli.families.template_source import TemplateSource
from titocli.verify.cases import DEFAULT_EXAMPLES, Thinking
from titocli.verify.contract import Ids
from titocli.verify.events import (
    Case,
    CheckFinished,
    CheckId,
    CheckStarted,
    FailureKind,
    Progress,
    RunFinished,
    RunStarted,
    Status,
    TemplatesCompared,
)
from titocli.verify.parallel import verify_targets
from titocli.verify.run import Plan
from titocli.verify.target import TargetSpec, contract_of

CONTRACTS = [each for each in all_contracts() if each.template or each.encoder]


@pytest.mark.parametrize("family", CONTRACTS, ids=lambda family: f"{family.name}-{family.variant}")
def test_every_built_in_family_passes_every_check(family: object) -> None:
    made = events(of_family(family), examples=3)  # type: ignore[arg-type]  # parametrised by a family
    assert failures(made) == []
    states = {each.check: each.status for each in made if isinstance(each, CheckFinished)}
    assert states.pop(CheckId.HF_PARITY) is Status.SKIPPED
    assert set(states.values()) == {Status.PASSED}


def test_a_run_is_told_from_beginning_to_end_and_check_by_check() -> None:
    made = events(plain(), examples=10)
    assert isinstance(made[0], RunStarted)
    assert isinstance(made[-1], RunFinished)
    assert made[0].cases == made[-1].cases
    done = [each.done for each in made if isinstance(each, Progress)]
    assert done == sorted(done)
    assert len(done) == made[0].cases // 10
    checks = [each.check for each in made if isinstance(each, (CheckStarted, CheckFinished))]
    assert checks == [one for check in CheckId for one in (check, check)]


def test_a_template_that_keeps_its_promises_passes_and_says_what_was_not_checked() -> None:
    made = events(plain(), examples=0)
    assert failures(made) == []
    assert finished(made, CheckId.HF_PARITY).reason == "needs a template to compare with (--against)"
    assert finished(made, CheckId.BOUNDARY_TOKENS).status is Status.SKIPPED
    assert "tokenizer" in str(finished(made, CheckId.BOUNDARY_TOKENS).reason)


def test_only_the_selected_checks_are_made() -> None:
    made = events(plain(), checks=(CheckId.SANDBOX, CheckId.APPEND_ONLY))
    assert [each.check for each in made if isinstance(each, CheckFinished)] == [
        CheckId.SANDBOX,
        CheckId.APPEND_ONLY,
    ]


def test_fail_fast_stops_after_the_first_failing_conversation() -> None:
    contract = plain(("{{ m.content }}", "{{ m.content if loop.last else '' }}"))
    made = events(contract, fail_fast=True)
    last = made[-1]
    assert isinstance(last, RunFinished)
    assert (last.cases, last.status) == (1, Status.FAILED)


def test_the_same_seed_gives_the_same_run() -> None:
    contract = plain(("{{ m.content }}", "{{ m.content | trim if not loop.last else m.content }}"))
    runs = [failures(events(contract, seed=7)) for _ in range(2)]
    assert runs[0] == runs[1] != []


def test_failures_are_grouped_by_the_lines_that_cause_them() -> None:
    text = PLAIN.replace("{{ m.content }}", "\n{{ m.content if loop.last else '' }}").replace(
        "{{ '<think>'", "\n{{ '<thought>' if loop.last else '<think>'"
    )
    made = events(unknown(text), checks=(CheckId.APPEND_ONLY,), examples=10)
    causes = failures(made)
    assert len(causes) == 2
    assert len({cause.at.template.line for cause in causes if cause.at.template}) == 2
    total = finished(made, CheckId.APPEND_ONLY).failing
    assert sum(len(cause.cases) for cause in causes) == total
    assert len(causes[0].cases) >= len(causes[1].cases)


def test_what_never_occurred_is_told_and_with_the_default_number_nothing_is_missing() -> None:
    few = events(of_family(get_family("qwen36")), examples=0)[-1]
    many = events(of_family(get_family("qwen36")), examples=DEFAULT_EXAMPLES)[-1]
    assert isinstance(few, RunFinished)
    assert isinstance(many, RunFinished)
    assert "part image" in few.gaps
    assert many.gaps == ()
    assert many.coverage["tool calls 3"] > 1


@pytest.mark.parametrize("thinking", [Thinking.OFF, Thinking.ON])
def test_thinking_chooses_conversations_and_the_kwarg(thinking: Thinking) -> None:
    last = events(of_family(get_family("qwen3")), thinking=thinking, examples=10)[-1]
    assert isinstance(last, RunFinished)
    is_on = thinking is Thinking.ON
    assert last.coverage[f"kwarg enable_thinking={is_on}"] > 10
    assert f"kwarg enable_thinking={not is_on}" not in last.coverage


def test_a_conversation_that_an_unknown_template_refuses_is_no_failure() -> None:
    guard = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    made = events(unknown(guard + PLAIN))
    assert failures(made, CheckId.APPEND_ONLY) == []
    assert finished(made, CheckId.APPEND_ONLY).refused > 20


def test_a_conversation_that_a_family_promises_to_render_is_a_failure_where_it_raises() -> None:
    made = events(
        held(
            "qwen3",
            ("{%- if tools %}", "{%- if messages | length > 4 %}{{ boom() }}{% endif %}{%- if tools %}"),
        )
    )
    (failure,) = failures(made, CheckId.APPEND_ONLY)
    assert failure.kind is FailureKind.TEMPLATE_RAISED
    assert len(failure.case.messages) == 5
    assert "'boom' is undefined" in failure.sentence


def test_a_template_that_raises_for_everything_cannot_be_checked() -> None:
    with pytest.raises(TemplateRaised, match="never") as raised:
        events(unknown("{{ raise_exception('never') }}"))
    assert raised.value.exit_code == 3


def test_a_template_without_end_cannot_be_checked() -> None:
    with pytest.raises(TemplateUnbounded):
        events(unknown("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"))


def test_a_template_that_does_not_compile_is_no_target() -> None:
    with pytest.raises(TemplateSyntax, match=r"t\.jinja:1:"):
        unknown("{% if %}")


def test_a_users_own_cases_take_the_place_of_all_others() -> None:
    case = Case(name="mine", messages=talk("uau"))
    made = events(plain(("{{ m.content }}", "{{ m.content if loop.last }}")), cases=(case,))
    (failure, *_) = failures(made, CheckId.APPEND_ONLY)
    assert failure.cases == ("mine",)
    last = made[-1]
    assert isinstance(last, RunFinished)
    assert (last.cases, last.gaps) == (1, ())


def test_a_users_case_that_cannot_be_rendered_is_refused_beside_others_and_an_error_alone() -> None:
    bad, good = Case(name="bad", messages=({"role": "nobody"},)), Case(name="good", messages=talk("ua"))
    made = events(plain(), cases=(bad, good))
    assert finished(made, CheckId.APPEND_ONLY).refused == 1
    with pytest.raises(Exception, match="bad: message 0 has the unknown role"):
        events(plain(), cases=(bad,))


def test_two_templates_are_compared_by_their_sources_and_by_what_they_render() -> None:
    other = TemplateSource("other.jinja", PLAIN.replace("'<' + m.role", "'<!' + m.role"))
    contract = replace(plain(), other=None)
    assert not [each for each in events(contract) if isinstance(each, TemplatesCompared)]
    spec = TargetSpec(name="t.jinja", source=TemplateSource("t.jinja", PLAIN), other=other)
    made = events(contract_of(spec), checks=(CheckId.HF_PARITY,))
    compared = next(each for each in made if isinstance(each, TemplatesCompared))
    assert (compared.ours, compared.theirs) == ("t.jinja", "other.jinja")
    (failure,) = failures(made)
    assert failure.kind is FailureKind.RENDERS_DIFFER
    assert (failure.expected[1], failure.at.character) == ("!", 1)
    same = replace(spec, other=TemplateSource("same.jinja", PLAIN))
    assert failures(events(contract_of(same), examples=0)) == []


def test_several_processes_say_the_same_as_one() -> None:
    specs = [TargetSpec(name=name, family=get_family(name)) for name in ("qwen3", "deepseekv4")]
    plan = Plan(examples=5, checks=(CheckId.APPEND_ONLY,))
    one, two = (
        [(type(each), getattr(each, "cases", None)) for each in verify_targets(specs, plan, jobs)]
        for jobs in (1, 2)
    )
    assert one == two


def test_many_conversations_of_one_target_are_shared_among_processes() -> None:
    spec = TargetSpec(
        name="t", source=TemplateSource("t", PLAIN.replace("{{ m.content }}", "{{ m.content if loop.last }}"))
    )
    plan = Plan(examples=400, checks=(CheckId.APPEND_ONLY,))
    alone, shared = (list(verify_targets([spec], plan, jobs)) for jobs in (1, 2))
    assert failures(alone) == failures(shared) != []
    assert finished(alone, CheckId.APPEND_ONLY) == finished(shared, CheckId.APPEND_ONLY)


def test_a_family_has_ids_of_bytes_and_an_unknown_template_has_none() -> None:
    assert of_family(get_family("qwen3")).ids is Ids.BYTES
    assert plain().ids is Ids.NONE
    assert message("user", "x") == {"role": "user", "content": "x"}
    assert compile_template(TemplateSource("t", PLAIN)).render(messages=talk("u")) == "<user>text 0\n"
