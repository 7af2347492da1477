"""hf-parity: the template to compare with renders every conversation in the same way."""

from __future__ import annotations

from collections.abc import Iterator

from titocli.errors import TemplateRaised
from titocli.families.family import Role
from titocli.families.spans import shared_length
from titocli.verify.checks.finding import Check, Finding, differing
from titocli.verify.contract import Contract
from titocli.verify.events import CheckId, FailureKind
from titocli.verify.states import By, Shown, States


def _why_not(contract: Contract) -> str | None:
    return None if contract.other else "needs a template to compare with (--against)"


def _find(states: States) -> Finding | None:
    return next(filter(None, (_differing(states, shown) for shown in _shown(states))), None)


def _shown(states: States) -> Iterator[Shown]:
    total = len(states.roles)
    yield Shown(total)
    if states.roles[-1] != Role.ASSISTANT:
        yield Shown(total, generation_prompt=True)


def _differing(states: States, ours: Shown) -> Finding | None:
    theirs = Shown(ours.end, ours.generation_prompt, By.OTHER)
    try:
        same = states.shown(theirs) == states.shown(ours)
    except TemplateRaised as error:
        return _raised(states, ours, error)
    if same:
        return None
    return differing(
        states,
        FailureKind.RENDERS_DIFFER,
        "the two templates render this conversation differently",
        expected=theirs,
        actual=ours,
    )


def _raised(states: States, ours: Shown, error: TemplateRaised) -> Finding:
    actual = states.shown(ours)
    return Finding(
        kind=FailureKind.TEMPLATE_RAISED,
        sentence=error.message,
        expected="",
        actual=actual,
        at=shared_length("", actual),
    )


HF_PARITY = Check(id=CheckId.HF_PARITY, find=_find, why_not=_why_not)

__all__ = ["HF_PARITY"]
