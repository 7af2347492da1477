"""Template kwargs in layers, under the family's fixed ones."""

from __future__ import annotations

from collections.abc import Mapping

from titocli.errors import ConflictingKwarg, UnsupportedRequest
from titocli.families.effort import Effort, known_effort
from titocli.families.family import Family
from titocli.families.thinking import canonical_kwargs
from titocli.jsonvalue import JsonValue

#: Names that the renderer itself passes to a template, and functions that templates call; nobody may set them
#: as kwargs.
RESERVED = frozenset(
    {
        *("messages", "tools", "documents", "add_generation_prompt"),
        *("namespace", "raise_exception", "strftime_now"),
    }
)


def same_value(left: JsonValue, right: JsonValue) -> bool:
    """Equality of JSON values by type too: ``True`` is not ``1``."""
    return type(left) is type(right) and left == right


def refuse_conflicts(family: Family, kwargs: Mapping[str, JsonValue]) -> None:
    """Raise for a kwarg that the renderer or the family owns."""
    for key, value in kwargs.items():
        if key in RESERVED:
            raise UnsupportedRequest(
                f"{key!r} cannot be given as a template kwarg",
                hint=f"the renderer sets these itself: {', '.join(sorted(RESERVED))}",
                details={"param": key},
            )
        if key in family.fixed_kwargs and not same_value(value, family.fixed_kwargs[key]):
            fixed = family.fixed_kwargs[key]
            raise ConflictingKwarg(
                f"family {family.name!r} fixes the template kwarg {key!r} to {fixed!r}, "
                f"but {value!r} was given",
                hint=f"leave {key!r} out",
                details={"family": family.name, "kwarg": key, "fixed": fixed, "given": value},
            )


def resolve_kwargs(family: Family, *layers: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The kwargs of a render: the family's defaults, then layers (later ones win), then its fixed ones."""
    resolved: dict[str, JsonValue] = dict(family.default_kwargs)
    for layer in layers:
        canonical = canonical_kwargs(family, layer)
        refuse_conflicts(family, canonical)
        resolved.update(canonical)
    return resolved | dict(family.fixed_kwargs)


def with_reasoning_effort(
    family: Family, kwargs: Mapping[str, JsonValue], effort: Effort
) -> dict[str, JsonValue]:
    """``kwargs`` with ``reasoning_effort`` set and thinking under the family's own name.

    Raises ``UnsupportedRequest`` for a family that has no such kwarg and for an effort that it does not know,
    ``ConflictingKwarg`` where two values are given.  An effort that is null is one that is not given.
    """
    named = canonical_kwargs(family, kwargs)
    given = known_effort(family, named.pop("reasoning_effort", None))
    if effort is not None and not _has_effort(family):
        raise UnsupportedRequest(
            f"family {family.name!r} has no reasoning effort",
            hint="leave reasoning_effort out; titocli families show lists what the family reads",
            details={"param": "reasoning_effort", "family": family.name},
        )
    asked = known_effort(family, effort)
    if None not in (given, asked) and given != asked:
        raise ConflictingKwarg(
            f"reasoning_effort is given twice, as {given!r} and {asked!r}", hint="give it once"
        )
    chosen = given if asked is None else asked
    return named if chosen is None else {**named, "reasoning_effort": chosen}


def _has_effort(family: Family) -> bool:
    return "reasoning_effort" in family.pinned_kwargs or "reasoning_effort" in family.turn_kwargs


__all__ = [
    "RESERVED",
    "canonical_kwargs",
    "refuse_conflicts",
    "resolve_kwargs",
    "same_value",
    "with_reasoning_effort",
]
