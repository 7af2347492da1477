"""Where a template rewrites text that it printed for an earlier turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from titocli.families.family import Role
from titocli.jsonvalue import JsonValue
from titocli.register.probes import Probe, reasoning_word
from titocli.register.subject import Subject

#: The roles without which no agent can be trained.
CORE_ROLES = (Role.USER, Role.TOOL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """The text of the first ``turn_end`` messages of a probe is not how that of ``state_end`` begins."""

    probe: Probe
    turn_end: int
    state_end: int


def rewrites(
    subject: Subject, probes: Sequence[Probe], kwargs: Mapping[str, JsonValue], roles: Sequence[Role]
) -> Iterator[Rewrite]:
    """The first rewriting of each probe that has one; states that the template refuses are passed over."""
    found = (_first(subject, probe, kwargs, roles) for probe in probes)
    return (one for one in found if one is not None)


def _first(
    subject: Subject, probe: Probe, kwargs: Mapping[str, JsonValue], roles: Sequence[Role]
) -> Rewrite | None:
    known: dict[int, str | None] = {}

    def state(end: int) -> str | None:
        if end not in known:
            known[end] = subject.state(probe, end, kwargs)
        return known[end]

    for turn_end in probe.turn_ends:
        prefix = state(turn_end)
        if prefix is None:
            continue
        for state_end in probe.states_after(turn_end, roles):
            text = state(state_end)
            if text is not None and not text.startswith(prefix):
                return Rewrite(probe=probe, turn_end=turn_end, state_end=state_end)
    return None


def reasoning_shown(
    subject: Subject, probes: Sequence[Probe], kwargs: Mapping[str, JsonValue]
) -> frozenset[tuple[str, int]]:
    """The turns, by letters and end, whose reasoning is printed when they are the last message."""
    return frozenset(
        (probe.letters, end)
        for probe in probes
        for end in probe.turn_ends
        if (word := reasoning_word(probe.messages[end - 1]))
        and word in (subject.state(probe, end, kwargs) or "")
    )


__all__ = ["CORE_ROLES", "Rewrite", "reasoning_shown", "rewrites"]
