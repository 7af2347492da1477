"""The events of a verification put together: one ``Run`` a target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from titocli.verify.events import (
    CheckFailed,
    CheckFinished,
    CheckId,
    Event,
    Failure,
    FailureIgnored,
    RunFinished,
    RunStarted,
    Status,
    Target,
    TemplatesCompared,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """How one check ended: ``failures`` count, ``ignored`` do not (with the reason of the rule)."""

    finished: CheckFinished
    failures: tuple[Failure, ...]
    ignored: tuple[FailureIgnored, ...] = ()

    @property
    def check(self) -> CheckId:
        """The check's name."""
        return self.finished.check

    @property
    def status(self) -> Status:
        """How it ended."""
        return self.finished.status


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """All that was said of one target."""

    started: RunStarted
    compared: TemplatesCompared | None
    checks: tuple[CheckResult, ...]
    finished: RunFinished

    @property
    def target(self) -> Target:
        """What was checked."""
        return self.finished.target

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The failures of all checks."""
        return tuple(failure for check in self.checks for failure in check.failures)

    @property
    def coverage(self) -> Mapping[str, int]:
        """In how many conversations each feature occurred."""
        return self.finished.coverage


@dataclass(slots=True)
class _Draft:
    started: RunStarted
    compared: TemplatesCompared | None = None
    failures: list[Failure] = field(default_factory=list)
    ignored: list[FailureIgnored] = field(default_factory=list)
    checks: list[CheckResult] = field(default_factory=list)

    def finish_check(self, finished: CheckFinished) -> None:
        self.checks.append(
            CheckResult(finished=finished, failures=tuple(self.failures), ignored=tuple(self.ignored))
        )
        self.failures, self.ignored = [], []

    def add(self, event: Event) -> None:
        match event:
            case TemplatesCompared():
                self.compared = event
            case CheckFailed(failure=failure):
                self.failures.append(failure)
            case FailureIgnored():
                self.ignored.append(event)
            case CheckFinished():
                self.finish_check(event)

    def finish(self, finished: RunFinished) -> Run:
        return Run(started=self.started, compared=self.compared, checks=tuple(self.checks), finished=finished)


def runs(events: Iterable[Event]) -> Iterator[Run]:
    """One run for each ``RunFinished``, as soon as it comes."""
    draft: _Draft | None = None
    for event in events:
        if isinstance(event, RunStarted):
            draft = _Draft(event)
        if draft is None:
            raise ValueError(f"{type(event).__name__} before a run has started")
        if isinstance(event, RunFinished):
            yield draft.finish(event)
        else:
            draft.add(event)


__all__ = ["CheckResult", "Run", "runs"]
