"""``--kwarg K=V``."""

from __future__ import annotations

import json
from collections.abc import Sequence

from titocli.errors import ConflictingKwarg, InvalidOption
from titocli.families.kwargs import same_value
from titocli.jsonvalue import JsonValue


def parse_kwargs(words: Sequence[str]) -> dict[str, JsonValue]:
    """The kwargs of several ``K=V``; V is JSON where it parses as such, else a string."""
    kwargs: dict[str, JsonValue] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name.strip():
            raise InvalidOption(
                f"--kwarg {word!r} is not K=V", hint="for example --kwarg enable_thinking=false"
            )
        value = _value(text)
        if name in kwargs and not same_value(kwargs[name], value):
            raise ConflictingKwarg(f"--kwarg {name} is given twice, with two values", hint="give it once")
        kwargs[name] = value
    return kwargs


def _value(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


__all__ = ["parse_kwargs"]
