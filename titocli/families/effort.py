"""Reasoning efforts: the names that a family knows, and the numbers that some take beside them."""

from __future__ import annotations

import json
from typing import TypeAlias

from titocli.errors import UnsupportedRequest
from titocli.families.family import Family
from titocli.jsonvalue import JsonValue

#: An effort as a client gives it: a name, a number, a number in quotes, or none.
Effort: TypeAlias = "str | float | None"


def known_effort(family: Family, effort: JsonValue) -> JsonValue:
    """The effort as the family's template reads it, None for none.

    A number in quotes is a number where the family takes numbers.  Raises ``UnsupportedRequest`` for an
    effort that a family with known efforts does not have.
    """
    known = {**family.pinned_kwargs, **family.turn_kwargs}.get("reasoning_effort", ())
    if effort is None or not known or (isinstance(effort, str) and effort in known):
        return effort
    number = _as_its_number(family, effort)
    if number is not None:
        return number
    raise UnsupportedRequest(
        f"family {family.name!r} has no reasoning effort {effort!r}",
        hint=f"it has: {', '.join(map(str, known))}{''.join(map(_told, family.effort_numbers))}",
        details={"param": "reasoning_effort", "family": family.name, "known": list(known)},
    )


def _as_its_number(family: Family, effort: JsonValue) -> int | float | None:
    value = _number(effort)
    for least, most in family.effort_numbers:
        whole = isinstance(least, int)
        if value is not None and least <= value <= most and (not whole or isinstance(value, int)):
            return value if whole else float(value)
    return None


def _number(value: JsonValue) -> int | float | None:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _told(numbers: tuple[float, float]) -> str:
    least, most = numbers
    kind = "whole number" if isinstance(least, int) else "number"
    return f", a {kind} from {least:g} to {most:g}"


__all__ = ["Effort", "known_effort"]
