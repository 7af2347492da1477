"""The engine of ``verify-template``: a target and a plan in, a stream of events out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from titocli.errors import TitoError
from titocli.verify.cases import DEFAULT_EXAMPLES, Thinking, curated, generated
from titocli.verify.causes import failures
from titocli.verify.checks.catalogue import CHECKS
from titocli.verify.checks.finding import Check
from titocli.verify.contract import Contract
from titocli.verify.events import (
    Case,
    CheckFailed,
    CheckFinished,
    CheckId,
    CheckStarted,
    Event,
    FailureKind,
    Progress,
    RunFinished,
    RunStarted,
    Status,
    TemplatesCompared,
)
from titocli.verify.examine import Failing, Looked, look_at
from titocli.verify.features import coverage, expected
from titocli.verify.ignore import IgnoreRule

#: A progress event comes every so many conversations.
_STEP = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How to check: which conversations, which checks, and when to stop.

    ``cases`` (None: the schedules and ``examples`` generated conversations of ``seed``) are a user's own.
    With ``fail_fast`` a failure that one of ``rules`` covers is no reason to stop; it is not left out of the
    events here, for ``Ignoring`` does that.
    """

    examples: int = DEFAULT_EXAMPLES
    seed: int = 1
    thinking: Thinking = Thinking.BOTH
    checks: tuple[CheckId, ...] = tuple(CHECKS)
    fail_fast: bool = False
    rules: tuple[IgnoreRule, ...] = ()
    cases: tuple[Case, ...] | None = None


@dataclass(slots=True)
class Tally:
    """What was seen so far."""

    looked: int = 0
    failing: dict[CheckId, list[Failing]] = field(default_factory=dict)
    refused: dict[CheckId, int] = field(default_factory=dict)
    #: Why the first conversation that could not be rendered could not.
    raised: TitoError | None = None
    rendered: int = 0

    def add(self, looked: Looked) -> None:
        """Count one case."""
        self.looked += 1
        for check_id, finding in looked.failing.items():
            self.failing.setdefault(check_id, []).append(Failing(looked.case, finding))
        for check_id in looked.refused:
            self.refused[check_id] = self.refused.get(check_id, 0) + 1
        self.rendered += looked.unrendered is None
        self.raised = self.raised or looked.unrendered

    @property
    def found_more(self) -> bool:
        """Whether something is known to be wrong besides that the template raises."""
        findings = (each.finding for some in self.failing.values() for each in some)
        return any(finding.kind is not FailureKind.TEMPLATE_RAISED for finding in findings)


def plan_cases(contract: Contract, plan: Plan) -> tuple[Case, ...]:
    """The conversations of a run."""
    if plan.cases is not None:
        return plan.cases
    family = contract.family
    made = generated(family, plan.examples, plan.seed, plan.thinking)
    return (*curated(family, plan.thinking), *made)


def verify(contract: Contract, plan: Plan) -> Iterator[Event]:
    """The events of one target's run.

    Raises ``TemplateUnbounded`` where the template does not end and, where not one conversation can be
    rendered, what the first was refused for (``TemplateRaised``, ``InvalidMessages``, ...).
    """
    started = perf_counter()
    cases = plan_cases(contract, plan)
    yield from begin(contract, plan, cases)
    active = [CHECKS[one] for one in plan.checks if CHECKS[one].why_not(contract) is None]
    tally = Tally()
    for looked in look_at(contract, active, cases):
        tally.add(looked)
        if tally.looked % _STEP == 0:
            yield Progress(done=tally.looked, cases=len(cases))
        if plan.fail_fast and _counts(contract, plan, looked):
            break
    yield from conclude(contract, plan, tally, cases, started)


def _counts(contract: Contract, plan: Plan, looked: Looked) -> bool:
    """Whether a failure was found that no rule covers."""
    return any(
        not any(rule.covers(contract.target, check, finding.kind) for rule in plan.rules)
        for check, finding in looked.failing.items()
    )


def begin(contract: Contract, plan: Plan, cases: Sequence[Case]) -> Iterator[Event]:
    """The events before the first conversation."""
    yield RunStarted(
        target=contract.target, seed=plan.seed, examples=plan.examples, cases=len(cases), checks=plan.checks
    )
    if contract.other is not None:
        source = contract.other.template.source
        yield TemplatesCompared(
            ours=contract.target.template,
            theirs=source.name,
            our_source=contract.target.source,
            their_source=source.text,
        )


def conclude(
    contract: Contract, plan: Plan, tally: Tally, cases: Sequence[Case], started: float
) -> Iterator[Event]:
    """The events after the last conversation; ``started`` is when the run began."""
    if tally.raised is not None and not tally.rendered and not tally.found_more:
        raise tally.raised
    found = 0
    for check_id in plan.checks:
        for event in _outcome(contract, CHECKS[check_id], tally):
            found += isinstance(event, CheckFailed)
            yield event
    seen = coverage(cases[: tally.looked])
    yield RunFinished(
        target=contract.target,
        status=Status.FAILED if found else Status.PASSED,
        cases=tally.looked,
        failures=found,
        seconds=perf_counter() - started,
        coverage=seen,
        gaps=() if plan.cases is not None else tuple(sorted(expected(contract.family) - seen.keys())),
    )


def _outcome(contract: Contract, check: Check, tally: Tally) -> Iterator[Event]:
    yield CheckStarted(check=check.id)
    reason = check.why_not(contract)
    if reason is not None:
        yield CheckFinished(check=check.id, status=Status.SKIPPED, cases=0, reason=reason)
        return
    failing = tally.failing.get(check.id, [])
    for failure in failures(contract, check, failing):
        yield CheckFailed(failure=failure)
    yield CheckFinished(
        check=check.id,
        status=Status.FAILED if failing else Status.PASSED,
        cases=tally.looked,
        failing=len(failing),
        refused=tally.refused.get(check.id, 0),
    )


__all__ = ["Plan", "Tally", "begin", "conclude", "plan_cases", "verify"]
