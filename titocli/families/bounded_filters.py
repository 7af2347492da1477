"""Jinja's filters that can be asked for a result of any size, each within limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from titocli.families.sizes import (
    refuse_format,
    refuse_join,
    refuse_length,
    refuse_places,
    refuse_replacement,
    refuse_text,
)

_Look = Callable[..., None]


def _padding(_: Any, *lengths: Any, **named: Any) -> None:
    refuse_length(*lengths, *named.values())


def _rounding(_: Any, *places: Any, **named: Any) -> None:
    refuse_places(*places, *named.values())


def _formatting(text: Any, *values: Any, **named: Any) -> None:
    refuse_format(str(text), (*values, *named.values()))


def _indenting(text: Any, width: Any = 4, *_: Any, **__: Any) -> None:
    size = len(width) if isinstance(width, str) else width
    if isinstance(text, str) and isinstance(size, int):
        refuse_text(len(text) + (text.count("\n") + 1) * size)


def _replacing(text: Any, old: Any, new: Any, *_: Any) -> None:
    refuse_replacement(str(text), str(old), str(new))


def _joining(items: Any, separator: Any = "", *_: Any, **__: Any) -> None:
    refuse_join(str(separator), items)


#: What is looked at before a filter runs.
_LOOKS: Mapping[str, _Look] = {
    "batch": _padding,
    "center": _padding,
    "format": _formatting,
    "indent": _indenting,
    "round": _rounding,
    "slice": _padding,
    "truncate": _padding,
    "wordwrap": _padding,
}
#: The same for filters that Jinja hands its evaluation context.
_LOOKS_PAST_CONTEXT: Mapping[str, _Look] = {"join": _joining, "replace": _replacing}


def bounded_filters(known: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Those of ``known`` that need a limit, with it; they raise ``BudgetSpent``."""
    plain = {name: _looking(known[name], look) for name, look in _LOOKS.items()}
    return plain | {name: _looking_past(known[name], look) for name, look in _LOOKS_PAST_CONTEXT.items()}


def _looking(function: Callable[..., Any], look: _Look) -> Callable[..., Any]:
    @wraps(function)
    def bounded(*args: Any, **kwargs: Any) -> Any:
        start = 1 if hasattr(function, "jinja_pass_arg") else 0
        look(*args[start:], **kwargs)
        return function(*args, **kwargs)

    return bounded


def _looking_past(function: Callable[..., Any], look: _Look) -> Callable[..., Any]:
    """A generator is made a list, so that its size can be looked at."""

    @wraps(function)
    def bounded(context: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
        held = (
            value if isinstance(value, (str, list, tuple)) or not hasattr(value, "__iter__") else list(value)
        )
        look(held, *args, **kwargs)
        return function(context, held, *args, **kwargs)

    return bounded


__all__ = ["bounded_filters"]
