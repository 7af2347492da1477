"""From many failing cases to a few failures: one for each cause, made small and located."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from titocli.verify.checks.finding import Check, Finding
from titocli.verify.contract import Contract
from titocli.verify.events import Failure, FailureKind
from titocli.verify.examine import Failing
from titocli.verify.locate import Lines, lines_of, place_of
from titocli.verify.shrink import Shrunk, shrink
from titocli.verify.states import States

#: Causes of one check that are told, each with its own small conversation.
_CAUSES = 4
#: Failing cases whose lines are traced; the others are taken for the first cause of their kind.
_TRACED = 40

_Key = tuple[FailureKind, int | None, int | None]


@dataclass(slots=True)
class _Cause:
    first: Failing
    names: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Small:
    cause: _Cause
    shrunk: Shrunk
    lines: Lines


def failures(contract: Contract, check: Check, failing: Sequence[Failing]) -> Iterator[Failure]:
    """The failures of one check, the cause of most cases first."""
    merged: dict[_Key, _Small] = {}
    for cause in _causes(contract, failing):
        small = _small(contract, check, cause)
        known = merged.setdefault(_key(small.shrunk.finding, small.lines), small)
        if known is not small:
            known.cause.names += cause.names
    for small in sorted(merged.values(), key=lambda one: -len(one.cause.names)):
        yield _failure(check, small)


def _causes(contract: Contract, failing: Sequence[Failing]) -> list[_Cause]:
    causes: dict[_Key, _Cause] = {}
    for number, each in enumerate(failing):
        lines = Lines(None, None)
        if number < _TRACED:
            lines = lines_of(States(contract, each.case), each.finding)
        key = _key(each.finding, lines)
        cause = causes.get(key)
        if cause is None:
            same_kind = [one for known, one in causes.items() if known[0] is key[0]]
            is_new = not same_kind or (number < _TRACED and len(causes) < _CAUSES)
            cause = causes.setdefault(key, _Cause(each)) if is_new else same_kind[0]
        cause.names.append(each.case.name)
    return list(causes.values())


def _key(finding: Finding, lines: Lines) -> _Key:
    return (
        finding.kind,
        lines.expected.line if lines.expected else None,
        lines.actual.line if lines.actual else None,
    )


def _small(contract: Contract, check: Check, cause: _Cause) -> _Small:
    states = States(contract, cause.first.case)
    shrunk = shrink(contract, check, states, cause.first.finding)
    return _Small(cause, shrunk, lines_of(shrunk.states, shrunk.finding))


def _failure(check: Check, small: _Small) -> Failure:
    states, finding = small.shrunk.states, small.shrunk.finding
    return Failure(
        check=check.id,
        kind=finding.kind,
        case=states.case,
        cases=tuple(small.cause.names),
        shrunk_from=len(small.cause.first.case.messages),
        expected=finding.expected,
        actual=finding.actual,
        at=place_of(states, finding, small.lines),
        sentence=finding.sentence,
        turn_end=finding.turn_end,
        state_end=finding.state_end,
    )


__all__ = ["failures"]
