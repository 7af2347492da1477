"""A stream of verification events, as the engine would yield it."""

from __future__ import annotations

from dataclasses import replace

from titocli.verify.events import (
    Case,
    CheckFailed,
    CheckFinished,
    CheckId,
    CheckStarted,
    Event,
    Failure,
    FailureKind,
    Place,
    Progress,
    RunFinished,
    RunStarted,
    Status,
    Target,
    TemplateLine,
    TemplatesCompared,
)

#: Text that breaks a report which does not escape: markup, XML, terminal controls, workflow commands.
NASTY = "<b>&\"'</b> [/INST] :smile: \x1b[31m\x00\t]]> ::error::x %0A\u202e"

TARGET = Target(
    name="qwen3",
    family="qwen3",
    variant=None,
    template="qwen3.jinja",
    sha256="ab" * 32,
    source="{{ a }}",
    append_roles=("user", "tool"),
    kwargs={"clear_thinking": False},
    notes=("taken for qwen3 by its hash",),
)


def failure(
    check: CheckId = CheckId.APPEND_ONLY, kind: FailureKind = FailureKind.HISTORY_REWRITTEN
) -> Failure:
    return Failure(
        check=check,
        kind=kind,
        case=Case(
            name="single_tool-N3",
            messages=({"role": "user", "content": NASTY}, {"role": "assistant", "content": "b"}),
            tools=({"type": "function"},),
            kwargs={"enable_thinking": True},
        ),
        cases=("single_tool-N3", "generated-17"),
        shrunk_from=9,
        expected=f"head {NASTY} expected tail\n",
        actual=f"head {NASTY} actual tail\n",
        at=Place(
            character=len(f"head {NASTY} "),
            token=4,
            message=0,
            role="user",
            template=TemplateLine(file="qwen3.jinja", line=7, text="{{- content }}"),
        ),
        sentence="appending a user message rewrites the turn before it",
        turn_end=2,
        state_end=3,
        saved_as="failure.json",
        reproduce="titocli verify-template qwen3 --cases failure.json --select append-only",
    )


def stream(*failures: Failure, target: Target = TARGET) -> list[Event]:
    """A run of three checks: append-only with ``failures``, sandbox passed, boundary-tokens skipped."""
    checks = (CheckId.APPEND_ONLY, CheckId.SANDBOX, CheckId.BOUNDARY_TOKENS)
    status = Status.FAILED if failures else Status.PASSED
    return [
        RunStarted(target=target, seed=5, examples=100, cases=117, checks=checks),
        TemplatesCompared(ours="a.jinja", theirs="b.jinja", our_source="one\n", their_source="two\n"),
        Progress(done=60, cases=117),
        CheckStarted(check=CheckId.APPEND_ONLY),
        *(CheckFailed(failure=each) for each in failures),
        CheckFinished(check=CheckId.APPEND_ONLY, status=status, cases=117, failing=len(failures)),
        CheckStarted(check=CheckId.SANDBOX),
        CheckFinished(check=CheckId.SANDBOX, status=Status.PASSED, cases=117, refused=2),
        CheckStarted(check=CheckId.BOUNDARY_TOKENS),
        CheckFinished(check=CheckId.BOUNDARY_TOKENS, status=Status.SKIPPED, cases=0, reason="no tokenizer"),
        RunFinished(
            target=target,
            status=status,
            cases=117,
            failures=len(failures),
            seconds=1.25,
            coverage={"tool calls 2": 3},
            gaps=("reasoning null",),
        ),
    ]


def other_target(name: str) -> Target:
    return replace(TARGET, name=name, family=name, template=f"{name}.jinja", notes=())
