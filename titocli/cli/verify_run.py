"""What ``titocli verify-template`` does with its options."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from titocli.cli.verify_cases import Saving, read_cases
from titocli.cli.verify_target import TargetOptions, target_specs
from titocli.cli.verify_template import Report, ThinkingOption
from titocli.errors import UnknownName
from titocli.report.result import Body, Envelope, Result
from titocli.report.settings import OutputSettings, Verbosity
from titocli.report.verification.as_json import verification_data
from titocli.report.verification.github import github
from titocli.report.verification.html import html
from titocli.report.verification.junit import junit
from titocli.report.verification.runs import Run, runs
from titocli.report.verification.text import draw_verification
from titocli.verify.cases import Thinking
from titocli.verify.checks.pages import PAGES
from titocli.verify.events import CheckId, Event, Progress, RunFinished, RunStarted, Status
from titocli.verify.parallel import verify_targets
from titocli.verify.run import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyRequest:
    """The options of one run; ``save`` and ``output`` are None for nowhere and standard output."""

    target: TargetOptions
    thinking: ThinkingOption
    cases: str | None
    examples: int
    seed: int
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    fail_fast: bool
    jobs: int
    report: Report
    output: Path | None
    save: Path | None
    settings: OutputSettings | None


def verify_result(request: VerifyRequest) -> Result:
    """The outcome of a run; raises what can be wrong with its options, files, templates and conversations."""
    plan = Plan(
        examples=request.examples,
        seed=request.seed,
        thinking=Thinking(request.thinking.value),
        checks=_checks(request),
        fail_fast=request.fail_fast,
        cases=None if request.cases is None else read_cases(request.cases),
    )
    specs = target_specs(request.target)
    jobs = request.jobs or (os.cpu_count() or 1 if len(specs) > 1 else 1)
    events = verify_targets(specs, plan, jobs)
    if request.save is not None:
        events = Saving(request.save, _options(request)).events(events)
    made = tuple(runs(_with_progress(events, request.settings)))
    failed = any(run.finished.status is Status.FAILED for run in made)
    return Result(body=body_of(request.report, made), exit_code=int(failed), output=request.output)


def body_of(report: Report, made: Sequence[Run]) -> Body:
    """The outcome as it was asked for."""
    if report is Report.JSON:
        return Envelope(verification_data(made))
    if report is Report.TEXT:
        return draw_verification(made)
    return {Report.JUNIT: junit, Report.HTML: html, Report.GITHUB: github}[report](made)


def _checks(request: VerifyRequest) -> tuple[CheckId, ...]:
    selected = [_check(name) for name in request.select] or list(CheckId)
    ignored = [_check(name) for name in request.ignore]
    return tuple(one for one in CheckId if one in selected and one not in ignored)


def _check(name: str) -> CheckId:
    known = [each.value for each in CheckId]
    if name not in known:
        raise UnknownName.among("check", name, known)
    return CheckId(name)


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


def checks_result(*, json_asked: bool) -> Result:
    """Every check with its line."""
    if json_asked:
        listed = [{"id": page.id.value, "summary": page.summary} for page in PAGES.values()]
        return Result(body=Envelope({"checks": listed}))
    width = max(len(name) for name in PAGES)
    lines = (f"{page.id.value:<{width}}  {page.summary}\n" for page in PAGES.values())
    return Result(body="".join(lines).encode())


__all__ = ["VerifyRequest", "body_of", "checks_result", "verify_result"]
