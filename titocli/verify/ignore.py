"""Failures that a project has decided to live with: rules, each with its reason.

A rule takes away the failures that it names from the verdict; they are still shown, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from titocli.errors import InvalidOption, UnknownName
from titocli.jsonvalue import JsonValue
from titocli.verify.events import (
    CheckFailed,
    CheckFinished,
    CheckId,
    Event,
    Failure,
    FailureIgnored,
    FailureKind,
    RunFinished,
    RunStarted,
    Status,
    Target,
)

_KEYS = ("check", "kind", "target", "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoreRule:
    """Failures of ``check`` (of ``kind``, of targets that match the pattern ``target``) are ignored."""

    check: CheckId
    reason: str
    kind: FailureKind | None = None
    target: str = "*"

    def names(self, target: Target) -> bool:
        """Whether the rule is for this target: by its name, its family or its template."""
        names = (target.name, target.family, target.template)
        return any(fnmatchcase(name, self.target) for name in names)

    def covers(self, target: Target, check: CheckId, kind: FailureKind) -> bool:
        """Whether the rule takes such a failure away."""
        return check is self.check and self.kind in (None, kind) and self.names(target)


def ignore_rules(document: Mapping[str, JsonValue]) -> tuple[IgnoreRule, ...]:
    """The rules of a parsed ignore file: a list of tables ``ignore``.

    Raises ``InvalidOption`` for a rule without a reason or of another shape, ``UnknownName`` for a key, check
    or kind that does not exist.
    """
    for key in document:
        if key != "ignore":
            raise UnknownName.among("key", key, ["ignore"])
    listed = document.get("ignore", [])
    if not isinstance(listed, list):
        raise InvalidOption("ignore must be a list of tables", hint="write [[ignore]] before each rule")
    return tuple(_rule(number, table) for number, table in enumerate(listed, start=1))


def _rule(number: int, table: JsonValue) -> IgnoreRule:
    if not isinstance(table, Mapping) or not all(isinstance(value, str) for value in table.values()):
        raise InvalidOption(
            f"ignore rule {number} must be a table of strings", hint=f"keys: {', '.join(_KEYS)}"
        )
    for key in table:
        if key not in _KEYS:
            raise UnknownName.among(f"key of ignore rule {number}", key, _KEYS)
    given = {key: str(value) for key, value in table.items()}
    if not given.get("reason", "").strip():
        raise InvalidOption(
            f"ignore rule {number} gives no reason", hint='say why it is right to ignore: reason = "..."'
        )
    if "check" not in given:
        raise InvalidOption(
            f"ignore rule {number} names no check", hint="titocli verify-template --list-checks"
        )
    return IgnoreRule(
        check=CheckId(_known("check", given["check"], [*CheckId])),
        kind=FailureKind(_known("kind", given["kind"], [*FailureKind])) if "kind" in given else None,
        target=given.get("target", "*"),
        reason=given["reason"],
    )


def _known(what: str, name: str, names: Sequence[str]) -> str:
    if name not in names:
        raise UnknownName.among(what, name, names)
    return name


@dataclass(slots=True)
class Ignoring:
    """The stream of a verification without what the rules take away; ``unused`` is known at its end."""

    rules: tuple[IgnoreRule, ...]
    _used: set[IgnoreRule] = field(default_factory=set)

    @property
    def unused(self) -> tuple[IgnoreRule, ...]:
        """The rules that covered nothing so far."""
        return tuple(rule for rule in self.rules if rule not in self._used)

    def events(self, events: Iterable[Event]) -> Iterator[Event]:
        """``events`` with ignored failures marked, and every verdict without them."""
        target: Target | None = None
        counted = total = 0
        for event in events:
            match event:
                case RunStarted():
                    target, counted, total = event.target, 0, 0
                    yield event
                case CheckFailed(failure=failure) if (rule := self._rule_for(target, failure)) is not None:
                    yield FailureIgnored(failure=failure, reason=rule.reason)
                case CheckFailed():
                    counted, total = counted + 1, total + 1
                    yield event
                case CheckFinished():
                    yield _verdict(event, counted)
                    counted = 0
                case RunFinished():
                    status = Status.FAILED if total else Status.PASSED
                    yield replace(event, failures=total, status=status)
                case _:
                    yield event

    def _rule_for(self, target: Target | None, failure: Failure) -> IgnoreRule | None:
        if target is None:
            return None
        covering = (rule for rule in self.rules if rule.covers(target, failure.check, failure.kind))
        rule = next(covering, None)
        if rule is not None:
            self._used.add(rule)
        return rule


def _verdict(event: CheckFinished, counted: int) -> CheckFinished:
    if event.status is Status.FAILED and not counted:
        return replace(event, status=Status.PASSED)
    return event


__all__ = ["IgnoreRule", "Ignoring", "ignore_rules"]
