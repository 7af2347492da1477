"""Whether a contract keeps what it promises: the checks of ``verify-template``, held against it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from titocli.families.family import Family
from titocli.families.renderer import Renderer
from titocli.families.template_source import TemplateSource
from titocli.jsonvalue import JsonObject
from titocli.tokens.tokenizer import Tokenizer
from titocli.verify.checks.catalogue import CHECKS
from titocli.verify.contract import Contract, Ids, Promise
from titocli.verify.events import CheckFailed, CheckFinished, CheckId, Failure, RunFinished, Status
from titocli.verify.run import Plan, verify
from titocli.verify.target import TargetSpec, contract_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The outcome of a verification of ``cases`` conversations.

    ``checks`` are the outcomes by check, ``failures`` the smallest counterexamples.
    """

    cases: int
    seed: int
    checks: tuple[CheckFinished, ...]
    failures: tuple[Failure, ...]

    @property
    def holds(self) -> bool:
        """Whether no check failed."""
        return not self.failures

    @property
    def sentence(self) -> str:
        """The outcome in one sentence."""
        passed = sum(one.status is Status.PASSED for one in self.checks)
        failed = [one.check.value for one in self.checks if one.status is Status.FAILED]
        refused = max((one.refused for one in self.checks), default=0)
        outcome = f"{', '.join(failed)} failed" if failed else f"{passed} checks passed"
        asked = f", {refused} conversations refused by the template" if refused else ""
        return f"{outcome} on {self.cases} conversations (seed {self.seed}{asked})"

    def as_json(self) -> JsonObject:
        """The outcome as JSON data."""
        return {
            "passed": self.holds,
            "sentence": self.sentence,
            "cases": self.cases,
            "seed": self.seed,
            "checks": [
                {"id": one.check.value, "status": one.status.value, "reason": one.reason}
                for one in self.checks
            ],
            "failures": [_failure(one) for one in self.failures],
        }


def _failure(one: Failure) -> JsonObject:
    return {
        "check": one.check.value,
        "case": one.case.name,
        "sentence": one.sentence,
        "conversation": list(one.case.messages),
        "kwargs": dict(one.case.kwargs),
    }


def prove(
    family: Family,
    source: TemplateSource | None,
    tokenizer: Tokenizer,
    *,
    examples: int,
    seed: int,
    without: Collection[CheckId] = (),
) -> Proof:
    """Check a contract with its template (None: its encoder) on the schedules and generated conversations.

    ``without`` are checks that say nothing about this template.
    """
    checks = tuple(check for check in CHECKS if check not in without)
    plan = Plan(examples=examples, seed=seed, checks=checks)
    events = list(verify(_contract(family, source, tokenizer), plan))
    return Proof(
        cases=next(one.cases for one in events if isinstance(one, RunFinished)),
        seed=seed,
        checks=tuple(one for one in events if isinstance(one, CheckFinished)),
        failures=tuple(one.failure for one in events if isinstance(one, CheckFailed)),
    )


def _contract(family: Family, source: TemplateSource | None, tokenizer: Tokenizer) -> Contract:
    contract = contract_of(TargetSpec(name=family.name, family=family, source=source))
    return replace(
        contract,
        encoding=Renderer(family, contract.renderer.template, tokenizer),
        ids=Ids.REAL,
        # Nobody promised that the template renders every conversation: those it refuses are counted.
        promise=Promise.ASSUMED,
    )


__all__ = ["Proof", "prove"]
