"""Whether a model thinks, under the name that its family's template reads.

Templates call it ``enable_thinking`` or ``thinking``, clients also ``thinking_mode``.  A template ignores the
names that are not its own without a word: the model would go on thinking.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from titocli.errors import ConflictingKwarg, UnsupportedRequest
from titocli.families.family import Family
from titocli.jsonvalue import JsonValue

#: The names of the one setting, and each name's own words for its values beside true and false.
THINKING_NAMES: Mapping[str, Mapping[str, bool]] = MappingProxyType(
    {
        "enable_thinking": MappingProxyType({}),
        "thinking": MappingProxyType({}),
        "thinking_mode": MappingProxyType({"thinking": True, "chat": False}),
    }
)


def own_thinking_name(family: Family) -> str | None:
    """The name that the family's template reads, None where it reads none."""
    read = {**family.default_kwargs, **family.pinned_kwargs, **family.turn_kwargs, **family.fixed_kwargs}
    return next((name for name in THINKING_NAMES if name in read), None)


def canonical_kwargs(family: Family, kwargs: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """``kwargs`` with thinking under the family's own name.

    Thinking that is null is not given.  Families that cannot do without thinking refuse to turn it off with
    ``UnsupportedRequest``, as every family does a word that a name does not have; those that have an effort
    ``none`` take that.  Raises ``ConflictingKwarg`` where two names contradict each other.  Kwargs of a
    family that is not known to think stay as they are.
    """
    if family.parsers.reasoning is None:
        return dict(kwargs)
    given = {name: _meaning(name, kwargs[name]) for name in THINKING_NAMES if kwargs.get(name) is not None}
    rest = {name: value for name, value in kwargs.items() if name not in THINKING_NAMES}
    return rest | (_own(family, _agreed(family, given), rest) if given else {})


def _meaning(name: str, value: JsonValue) -> JsonValue:
    words = THINKING_NAMES[name]
    if not words or not isinstance(value, str):
        return value
    if value not in words:
        raise UnsupportedRequest(
            f"{name} is {value[:40]!r}",
            hint=f"it is one of {', '.join(words)}",
            details={"param": name},
        )
    return words[value]


def _agreed(family: Family, given: Mapping[str, JsonValue]) -> JsonValue:
    first, *others = given.values()
    if any(type(value) is not type(first) or value != first for value in others):
        raise ConflictingKwarg(
            f"{' and '.join(given)} contradict each other",
            hint="give one of them",
            details={"family": family.name, "kwarg": own_thinking_name(family), "kwargs": list(given)},
        )
    return first


def _own(family: Family, value: JsonValue, rest: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    own = own_thinking_name(family)
    if own is not None:
        return {own: value}
    if value is not False:
        return {}
    efforts = family.pinned_kwargs.get("reasoning_effort", ())
    if "none" not in efforts or rest.get("reasoning_effort", "none") != "none":
        raise UnsupportedRequest(
            f"family {family.name!r} cannot turn thinking off",
            hint="leave enable_thinking out",
            details={"param": "enable_thinking", "family": family.name},
        )
    return {"reasoning_effort": "none"}


__all__ = ["THINKING_NAMES", "canonical_kwargs", "own_thinking_name"]
