"""Looking at conversations: every check on every case, without making anything smaller yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from titocli.errors import InputError, TemplateRaised, TemplateUnbounded, TitoError, UsageError
from titocli.families.family import Role
from titocli.families.spans import shared_length
from titocli.verify.checks.finding import Check, Finding
from titocli.verify.contract import Contract, Promise
from titocli.verify.events import Case, CheckId, FailureKind
from titocli.verify.states import States


@dataclass(frozen=True, slots=True)
class Failing:
    """A case and what a check says of it."""

    case: Case
    finding: Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What all checks say of one case; ``refused`` is why it could not be rendered for a check.

    ``unrendered`` is the same where even the whole of it could not, for any check.
    """

    case: Case
    failing: dict[CheckId, Finding] = field(default_factory=dict)
    refused: dict[CheckId, TitoError] = field(default_factory=dict)
    unrendered: TitoError | None = None


def look_at(contract: Contract, checks: Sequence[Check], cases: Iterable[Case]) -> Iterator[Looked]:
    """Every check on every case, case by case; raises ``TemplateUnbounded``."""
    for case in cases:
        states = States(contract, case)
        looked = Looked(case=case, unrendered=_unrendered(states))
        for check in checks:
            _look(looked, check, states, is_first=check is checks[0])
        yield looked


def _unrendered(states: States) -> TitoError | None:
    try:
        states.text(len(states.roles))
    except TemplateUnbounded:
        raise
    except (InputError, UsageError) as error:
        return _of_case(states.case, error)
    return None


def _look(looked: Looked, check: Check, states: States, *, is_first: bool) -> None:
    try:
        found = check.find(states)
    except TemplateRaised as error:
        if is_first and states.contract.promise is Promise.DECLARED and _is_orderly(states):
            looked.failing[check.id] = raised_finding(states, error)
        else:
            looked.refused[check.id] = error
        return
    except TemplateUnbounded:
        raise
    except (InputError, UsageError) as error:
        looked.refused[check.id] = _of_case(looked.case, error)
        return
    if found is not None:
        looked.failing[check.id] = found


def _of_case(case: Case, error: TitoError) -> TitoError:
    return type(error)(f"{case.name}: {error.message}", hint=error.hint, details=error.details)


def _is_orderly(states: States) -> bool:
    """Whether results follow their calls, and system messages stand where the contract allows them."""
    late_system = Role.SYSTEM in states.contract.family.append_roles
    return (
        all(
            before in {Role.TOOL, Role.ASSISTANT} if role == Role.TOOL else role != Role.SYSTEM or late_system
            for before, role in pairwise(states.roles)
        )
        and states.roles[0] != Role.TOOL
    )


def raised_finding(states: States, error: TemplateRaised) -> Finding:
    """The longest beginning of the conversation that renders, and nothing after it."""
    end, text = 0, ""
    for longer in range(1, len(states.roles)):
        try:
            end, text = longer, states.text(longer)
        except TemplateRaised:
            break
    return Finding(
        kind=FailureKind.TEMPLATE_RAISED,
        sentence=error.message,
        expected=text,
        actual="",
        at=shared_length(text, ""),
        turn_end=end or None,
    )


__all__ = ["Failing", "Looked", "look_at", "raised_finding"]
