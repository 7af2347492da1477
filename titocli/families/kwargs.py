"""Template kwargs in layers, under the family's fixed ones."""

from __future__ import annotations

from collections.abc import Mapping

from titocli.errors import ConflictingKwarg, UnsupportedRequest
from titocli.families.family import Family, KwargAlias
from titocli.families.thinking import with_own_thinking_name
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


def canonical_kwargs(family: Family, kwargs: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """``kwargs`` under the names that the family's template reads; an alias that is null is left out.

    Raises ``ConflictingKwarg`` where two names of one kwarg contradict each other, ``UnsupportedRequest`` for
    a word that an alias does not know.
    """
    canonical = {name: value for name, value in kwargs.items() if name not in family.kwarg_aliases}
    for name, alias in family.kwarg_aliases.items():
        if kwargs.get(name) is None:
            continue
        value = _meaning(name, alias, kwargs[name])
        if canonical.get(alias.kwarg) is None:
            canonical[alias.kwarg] = value
        if not same_value(canonical[alias.kwarg], value):
            raise ConflictingKwarg(
                f"{name} says that {alias.kwarg} is {value!r}, but it is given as {canonical[alias.kwarg]!r}",
                hint="give one of them",
                details={"family": family.name, "kwarg": alias.kwarg, "alias": name},
            )
    return canonical


def _meaning(name: str, alias: KwargAlias, value: JsonValue) -> JsonValue:
    if not alias.values or not isinstance(value, str):
        return value
    if value not in alias.values:
        raise UnsupportedRequest(
            f"{name} is {value[:40]!r}",
            hint=f"it is one of {', '.join(alias.values)}",
            details={"param": name},
        )
    return alias.values[value]


def resolve_kwargs(family: Family, *layers: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The kwargs of a render: the family's defaults, then layers (later ones win), then its fixed ones."""
    resolved: dict[str, JsonValue] = dict(family.default_kwargs)
    for layer in layers:
        canonical = canonical_kwargs(family, layer)
        refuse_conflicts(family, canonical)
        resolved.update(canonical)
    return resolved | dict(family.fixed_kwargs)


def with_reasoning_effort(
    family: Family, kwargs: Mapping[str, JsonValue], effort: str | None
) -> dict[str, JsonValue]:
    """``kwargs`` with ``reasoning_effort`` set and thinking under the family's own name.

    Raises ``UnsupportedRequest`` for a family that has no such kwarg and for an effort that it does not know,
    ``ConflictingKwarg`` where two values are given.  An effort that is null is one that is not given.
    """
    named = with_own_thinking_name(family, kwargs)
    given = named.pop("reasoning_effort", None)
    if effort is not None and not _has_effort(family):
        raise UnsupportedRequest(
            f"family {family.name!r} has no reasoning effort",
            hint="leave reasoning_effort out; titocli families show lists what the family reads",
            details={"param": "reasoning_effort", "family": family.name},
        )
    if None not in (given, effort) and given != effort:
        raise ConflictingKwarg(
            f"reasoning_effort is given twice, as {given!r} and {effort!r}", hint="give it once"
        )
    chosen = given if effort is None else effort
    _refuse_unknown_effort(family, chosen)
    return named if chosen is None else {**named, "reasoning_effort": chosen}


def _has_effort(family: Family) -> bool:
    return "reasoning_effort" in family.pinned_kwargs or "reasoning_effort" in family.turn_kwargs


def _refuse_unknown_effort(family: Family, effort: JsonValue) -> None:
    known = {**family.pinned_kwargs, **family.turn_kwargs}.get("reasoning_effort", ())
    # A number is a degree of effort, which the template itself judges.
    if isinstance(effort, str) and known and effort not in known:
        raise UnsupportedRequest(
            f"family {family.name!r} has no reasoning effort {effort!r}",
            hint=f"it has: {', '.join(map(str, known))}",
            details={"param": "reasoning_effort", "family": family.name, "known": list(known)},
        )


__all__ = [
    "RESERVED",
    "canonical_kwargs",
    "refuse_conflicts",
    "resolve_kwargs",
    "same_value",
    "with_reasoning_effort",
]
