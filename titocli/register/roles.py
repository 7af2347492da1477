"""Which roles may be appended: their text is added, and nothing before it changes."""

from __future__ import annotations

from collections.abc import Mapping

from titocli.families.family import Role
from titocli.jsonvalue import JsonValue
from titocli.register.findings import Finding, Inferred
from titocli.register.probes import Probe, content_word, probe
from titocli.register.subject import Subject

Kwargs = Mapping[str, JsonValue]

_HISTORIES = ("UA", "SUA", "Ua", "UAUA", "UaUa", "SUCTA", "UcTa")
_CALLING = ("UC", "SUC", "Uc", "UAUC", "UaUc", "SUCTC", "UcTc")
_LETTERS = {Role.SYSTEM: "S", Role.USER: "U", Role.ASSISTANT: "A", Role.TOOL: "T"}


def append_roles(subject: Subject, kwargs: Kwargs) -> Inferred[tuple[Role, ...]]:
    """The roles that hold for every history."""
    counts = {role: _held(subject, kwargs, role) for role in Role}
    holding = tuple(role for role in Role if counts[role] == len(_HISTORIES))
    finding = Finding(
        name="append roles",
        value=", ".join(holding) or "none",
        held=sum(counts.values()),
        probes=len(_HISTORIES) * len(Role),
        sentence=", ".join(f"{role} {counts[role]} of {len(_HISTORIES)}" for role in Role),
    )
    return Inferred(value=holding, finding=finding)


def _held(subject: Subject, kwargs: Kwargs, role: Role) -> int:
    histories = _CALLING if role is Role.TOOL else _HISTORIES
    return sum(_appends(subject, kwargs, probe(history + _LETTERS[role])) for history in histories)


def _appends(subject: Subject, kwargs: Kwargs, one: Probe) -> bool:
    """Whether the last message of a probe adds its text and changes nothing before it."""
    end = len(one.letters)
    before, after = subject.state(one, end - 1, kwargs), subject.state(one, end, kwargs)
    if before is None or after is None or not after.startswith(before):
        return False
    return content_word(one.messages[-1]) in after[len(before) :]


__all__ = ["append_roles"]
