"""What a check says of a conversation, and what a check is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from titocli.families.spans import shared_length
from titocli.verify.contract import Contract
from titocli.verify.events import CheckId, FailureKind, TemplateLine
from titocli.verify.states import Shown, States


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A counterexample as a check finds it: two texts that should agree, and the renders they come from.

    ``expected_from`` and ``actual_from`` are None for a text that is no single render.  ``at`` is the first
    character that differs; ``line`` is given where the check itself knows the template's line.
    """

    kind: FailureKind
    sentence: str
    expected: str
    actual: str
    at: int
    expected_from: Shown | None = None
    actual_from: Shown | None = None
    turn_end: int | None = None
    state_end: int | None = None
    token: int | None = None
    line: TemplateLine | None = None


#: Looks at one conversation; raises what the template raises.
Find: TypeAlias = Callable[[States], Finding | None]
#: Why a check cannot be made under a contract, or None.
WhyNot: TypeAlias = Callable[[Contract], str | None]


def always(_: Contract) -> None:
    """For checks that are made under every contract."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A check: its name, when it is skipped, and what it finds."""

    id: CheckId
    find: Find
    why_not: WhyNot = always


def differing(
    states: States,
    kind: FailureKind,
    sentence: str,
    *,
    expected: Shown,
    actual: Shown,
    turn_end: int | None = None,
    state_end: int | None = None,
) -> Finding:
    """The finding that two renders part where they should not."""
    wanted, got = states.shown(expected), states.shown(actual)
    return Finding(
        kind=kind,
        sentence=sentence,
        expected=wanted,
        actual=got,
        at=shared_length(wanted, got),
        expected_from=expected,
        actual_from=actual,
        turn_end=turn_end,
        state_end=state_end,
    )


__all__ = ["Check", "Find", "Finding", "WhyNot", "always", "differing"]
