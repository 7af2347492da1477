"""Template kwargs in layers, under the family's fixed ones."""

from __future__ import annotations

from collections.abc import Mapping

from titocli.errors import ConflictingKwarg, UnsupportedRequest
from titocli.families.family import Family
from titocli.jsonvalue import JsonValue

#: Names that the renderer itself passes to a template; nobody may set them as kwargs.
RESERVED = frozenset({"messages", "tools", "documents", "add_generation_prompt"})


def same_value(left: JsonValue, right: JsonValue) -> bool:
    """Equality of JSON values by type too: ``True`` is not ``1``."""
    return type(left) is type(right) and left == right


def refuse_conflicts(family: Family, kwargs: Mapping[str, JsonValue]) -> None:
    """Raise for a kwarg that the renderer or the family owns."""
    for key, value in kwargs.items():
        if key in RESERVED:
            raise UnsupportedRequest(
                f"{key!r} cannot be given as a template kwarg",
                hint="it is set from the conversation itself",
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
    """The kwargs of a render: later layers win, then the family's fixed ones are added."""
    resolved: dict[str, JsonValue] = {}
    for layer in layers:
        refuse_conflicts(family, layer)
        resolved.update(layer)
    return resolved | dict(family.fixed_kwargs)


def with_reasoning_effort(
    family: Family, kwargs: Mapping[str, JsonValue], effort: str | None
) -> dict[str, JsonValue]:
    """``kwargs`` with ``reasoning_effort`` set; raises for a family that has no such kwarg."""
    if effort is None:
        return dict(kwargs)
    if "reasoning_effort" not in family.pinned_kwargs and "reasoning_effort" not in family.turn_kwargs:
        raise UnsupportedRequest(
            f"family {family.name!r} has no reasoning effort",
            hint="leave reasoning_effort out; titocli families show lists what the family reads",
            details={"param": "reasoning_effort", "family": family.name},
        )
    given = kwargs.get("reasoning_effort", effort)
    if given != effort:
        raise ConflictingKwarg(
            f"reasoning_effort is given twice, as {given!r} and {effort!r}", hint="give it once"
        )
    return {**kwargs, "reasoning_effort": effort}


__all__ = ["RESERVED", "refuse_conflicts", "resolve_kwargs", "same_value", "with_reasoning_effort"]
