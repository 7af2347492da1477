"""Whether a model thinks, under the name that its family's template reads.

Templates call it ``enable_thinking``, ``thinking`` or ``thinking_mode`` ("chat" is off), and ignore the other
names without a word: the model would go on thinking.
"""

from __future__ import annotations

from collections.abc import Mapping

from titocli.errors import ConflictingKwarg, UnsupportedRequest
from titocli.families.family import Family
from titocli.jsonvalue import JsonValue

_MODE = "thinking_mode"
_NAMES = ("enable_thinking", "thinking", _MODE)
_MODES: tuple[tuple[str, bool], ...] = (("thinking", True), ("chat", False))


def with_own_thinking_name(family: Family, kwargs: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """``kwargs`` with thinking under the family's own name.

    Thinking that is null is not given.  Families that cannot do without thinking refuse to turn it off with
    ``UnsupportedRequest``; those that have an effort ``none`` take that.  Raises ``ConflictingKwarg`` where
    two names contradict each other.
    """
    if family.parsers.reasoning is None:
        return dict(kwargs)
    given = {name: kwargs[name] for name in _NAMES if kwargs.get(name) is not None}
    rest = {name: value for name, value in kwargs.items() if name not in _NAMES}
    return rest | (_own(family, _agreed(given), rest) if given else {})


def _agreed(given: Mapping[str, JsonValue]) -> JsonValue:
    values = [
        dict(_MODES).get(str(value), value) if name == _MODE else value for name, value in given.items()
    ]
    if any(value is not values[0] and value != values[0] for value in values):
        raise ConflictingKwarg(
            f"{' and '.join(given)} contradict each other",
            hint="give one of them",
            details={"kwargs": list(given)},
        )
    return values[0]


def _own(family: Family, value: JsonValue, rest: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    read = {**family.default_kwargs, **family.pinned_kwargs, **family.turn_kwargs, **family.fixed_kwargs}
    own = next((name for name in _NAMES if name in read), None)
    if own is not None:
        modes = {switched: mode for mode, switched in _MODES}
        return {own: modes[value] if own == _MODE and isinstance(value, bool) else value}
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


__all__ = ["with_own_thinking_name"]
