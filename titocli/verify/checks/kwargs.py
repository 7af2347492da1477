"""kwargs-guard: kwargs change what the contract says that they change, and nothing else."""

from __future__ import annotations

from titocli.families.family import Role
from titocli.families.thinking import THINKING_NAMES, own_thinking_name
from titocli.verify.checks.finding import Check, Finding, differing
from titocli.verify.contract import Promise
from titocli.verify.events import CheckId, FailureKind
from titocli.verify.states import Shown, States

#: Messages of a conversation by which a kwarg is tried.
_SHORT = 4
#: A name that no template reads.
_UNKNOWN = "titocli_reads_nothing"


def _find(states: States) -> Finding | None:
    declared = states.contract.promise is Promise.DECLARED
    named = (_unread(states) or _powerless(states) or _other_default(states)) if declared else None
    return named or _leaking(states)


def _unread(states: States) -> Finding | None:
    family = states.contract.family
    # A family may fix thinking only to refuse that it is turned off.
    fixed = [name for name in family.fixed_kwargs if name not in THINKING_NAMES]
    named = (*fixed, *family.pinned_kwargs, *family.turn_kwargs)
    unread = [name for name in named if name not in states.contract.renderer.template.variables]
    if not unread:
        return None
    return Finding(
        kind=FailureKind.KWARG_UNREAD,
        sentence=f"the template does not read the kwarg {unread[0]}, which the contract names",
        expected=unread[0],
        actual="",
        at=0,
    )


def _powerless(states: States) -> Finding | None:
    """A switch of thinking that changes nothing, not even what opens the next turn."""
    family = states.contract.family
    name = own_thinking_name(family)
    values = {**family.pinned_kwargs, **family.turn_kwargs}.get(name or "", ())
    if name is None or set(values) != {True, False} or not _is_short_question(states):
        return None
    on, off = (Shown(len(states.roles), True, changed=((name, value),)) for value in (True, False))
    if states.shown(on) != states.shown(off):
        return None
    return Finding(
        kind=FailureKind.KWARG_UNREAD,
        sentence=f"the kwarg {name} changes nothing, not even what opens the next turn",
        expected=name,
        actual="",
        at=0,
    )


def _is_short_question(states: States) -> bool:
    """Whether the case is a short one that asks for a turn: enough to see what a kwarg does to it."""
    return len(states.roles) <= _SHORT and states.roles[-1] != Role.ASSISTANT


def _leaking(states: States) -> Finding | None:
    """Text before the generation prompt that a kwarg of the turn, or an unknown one, changes."""
    total = len(states.roles)
    family = states.contract.family
    changes = [(name, value) for name, values in family.turn_kwargs.items() for value in values]
    unknown = [] if states.case.name.startswith("generated") else [(_UNKNOWN, True)]
    for name, value in (*changes, *unknown):
        changed = Shown(total, changed=((name, value),))
        if states.kwargs.get(name, values_default(states, name)) != value and (
            states.shown(changed) != states.text(total)
        ):
            return differing(
                states,
                FailureKind.KWARG_LEAKS,
                f"the kwarg {name} changes text before the generation prompt",
                expected=Shown(total),
                actual=changed,
            )
    return None


def values_default(states: States, name: str) -> object:
    """What the contract says that the absence of a kwarg means."""
    family = states.contract.family
    values = {**family.pinned_kwargs, **family.turn_kwargs}.get(name)
    return values[0] if values else None


def _other_default(states: States) -> Finding | None:
    """Schedules alone: a kwarg that is absent, against the value that the contract calls its default."""
    if states.case.name.startswith("generated"):
        return None
    family = states.contract.family
    total = len(states.roles)
    for name, values in {**family.pinned_kwargs, **family.turn_kwargs}.items():
        absent, given = (
            Shown(total, True),
            Shown(total, True, changed=((name, values[0] if values else None),)),
        )
        if values and name not in states.kwargs and states.shown(absent) != states.shown(given):
            return differing(
                states,
                FailureKind.KWARG_DEFAULT_DIFFERS,
                f"without the kwarg {name} the template does not do what {name}={values[0]!r} says",
                expected=given,
                actual=absent,
            )
    return None


KWARGS_GUARD = Check(id=CheckId.KWARGS_GUARD, find=_find)

__all__ = ["KWARGS_GUARD"]
