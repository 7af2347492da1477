"""What ``titocli verify-template`` does with its options."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from titocli.cli.verify_cases import Saving, read_cases
from titocli.cli.verify_ignore import rules_of, unused_notices
from titocli.cli.verify_names import checks_named
from titocli.cli.verify_target import TargetOptions, target_specs
from titocli.cli.verify_template import Report, ThinkingOption
from titocli.report.result import Body, Envelope, Result
from titocli.report.settings import OutputSettings, Verbosity
from titocli.report.verification.as_json import verification_data
from titocli.report.verification.github import github
from titocli.report.verification.html import html
from titocli.report.verification.junit import junit
from titocli.report.verification.runs import Run, runs
from titocli.report.verification.text import draw_verification
from titocli.verify.cases import Thinking
from titocli.verify.events import Event, Progress, RunFinished, RunStarted, Status
from titocli.verify.ignore import Ignoring
from titocli.verify.parallel import verify_targets
from titocli.verify.run import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyRequest:
    """The options of one run; ``save`` and ``output`` are None for nowhere and standard output.

    ``ignore_file`` is None where none was named.
    """

    target: TargetOptions
    thinking: ThinkingOption
    cases: str | None
    examples: int
    seed: int
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    ignore_file: str | None
    fail_fast: bool
    jobs: int
    report: Report
    output: Path | None
    save: Path | None
    settings: OutputSettings | None


def verify_result(request: VerifyRequest) -> Result:
    """The outcome of a run; raises what can be wrong with its options, files, templates and conversations."""
    plan = _plan(request)
    specs = target_specs(request.target)
    jobs = request.jobs or (os.cpu_count() or 1 if len(specs) > 1 else 1)
    ignoring = Ignoring(plan.rules)
    events = ignoring.events(verify_targets(specs, plan, jobs))
    if request.save is not None:
        events = Saving(request.save, _options(request)).events(events)
    made = tuple(runs(_with_progress(events, request.settings)))
    failed = any(run.finished.status is Status.FAILED for run in made)
    unused = unused_notices(
        ignoring.unused,
        plan.checks,
        [run.target for run in made],
        all_families=request.target.all_families,
    )
    return Result(
        body=body_of(request.report, made),
        exit_code=int(failed),
        output=request.output,
        # A run that stopped early has not met every failure.
        warnings=() if plan.fail_fast else tuple(unused),
    )


def _plan(request: VerifyRequest) -> Plan:
    return Plan(
        examples=request.examples,
        seed=request.seed,
        thinking=Thinking(request.thinking.value),
        checks=checks_named(request.select, request.ignore),
        fail_fast=request.fail_fast,
        rules=rules_of(request.ignore_file),
        cases=None if request.cases is None else read_cases(request.cases),
    )


def body_of(report: Report, made: Sequence[Run]) -> Body:
    """The outcome as it was asked for."""
    if report is Report.JSON:
        return Envelope(verification_data(made))
    if report is Report.TEXT:
        return draw_verification(made)
    return {Report.JUNIT: junit, Report.HTML: html, Report.GITHUB: github}[report](made)


def _options(request: VerifyRequest) -> list[str]:
    """The words that change what a saved conversation is checked for."""
    target = request.target
    words = [f"--{name}={value}" for name, value in _named(target) if value is not None]
    words += [f"--kwarg={name}={json.dumps(value)}" for name, value in target.kwargs.items()]
    return words + [f"--append-role={role.value}" for role in target.append_roles]


def _named(target: TargetOptions) -> Iterator[tuple[str, str | None]]:
    yield "family", target.family
    yield "variant", target.variant
    yield "tokenizer", target.tokenizer
    yield "against", target.against


def _with_progress(events: Iterable[Event], settings: OutputSettings | None) -> Iterator[Event]:
    """``events``; a person at a terminal sees on standard error how far they are."""
    shown = settings is None or settings.verbosity is not Verbosity.QUIET
    name = ""
    for event in events:
        if shown and sys.stderr.isatty():
            name = event.target.name if isinstance(event, RunStarted) else name
            _show(event, name)
        yield event


def _show(event: Event, name: str) -> None:
    match event:
        case Progress(done=done, cases=cases):
            sys.stderr.write(f"\r\x1b[K{name}: {done} of {cases} conversations")
        case RunFinished():
            sys.stderr.write("\r\x1b[K")
        case _:
            return
    sys.stderr.flush()


__all__ = ["VerifyRequest", "body_of", "verify_result"]
