"""The sampling options of a chat completion, checked by type and range; pure.

What is checked here is refused with a sentence that names the field; what is not known here goes to the
engine as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from titocli.errors import UnsupportedRequest
from titocli.jsonvalue import JsonObject, JsonValue

_MAX_STOPS = 16
_MAX_TOP_LOG_PROBS = 20
_MAX_BIAS = 100
_MAX_ID_DIGITS = 10
_INT64 = 2**63
_RESPONSE_FORMATS = ("text", "json_object", "json_schema", "structural_tag")
_TOOL_CHOICES = ("auto", "none", "required")


def engine_options(given: JsonObject, *, vocab_size: int) -> dict[str, JsonValue]:
    """The options for the engine: checked, without nulls, with one limit of tokens.

    ``max_completion_tokens`` wins over ``max_tokens``, its older name.  Raises ``UnsupportedRequest``.
    """
    options: dict[str, JsonValue] = {key: value for key, value in given.items() if value is not None}
    for field, (fits, wanted) in _CHECKS.items():
        if field in options and not fits(options[field]):
            refuse(field, f"{field} must be {wanted}")
    _refuse_unknown_ids(options, vocab_size)
    if "top_logprobs" in options and not options.get("logprobs"):
        refuse("top_logprobs", "top_logprobs needs logprobs: true")
    if "max_completion_tokens" in options:
        options["max_tokens"] = options.pop("max_completion_tokens")
    options.pop("logprobs", None)  # the engine always gives them
    return options


def refuse_tool_choice(choice: JsonValue, tools: JsonValue) -> None:
    """Raise for a ``tool_choice`` that is not one, or that names none of the tools of this request."""
    if choice is None or choice in _TOOL_CHOICES:
        return
    function = choice.get("function") if isinstance(choice, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(name, str):
        refuse("tool_choice", f"tool_choice must be one of {', '.join(_TOOL_CHOICES)}, or name a function")
    if isinstance(tools, Sequence) and not isinstance(tools, str) and tools and name not in _names(tools):
        refuse("tool_choice", f"tool_choice names {name[:80]!r}, which is none of the tools")


def refuse(param: str, message: str, hint: str | None = None) -> NoReturn:
    """Raise ``UnsupportedRequest`` about a field."""
    raise UnsupportedRequest(
        message, hint=hint or f"leave {param} out, or correct it", details={"param": param}
    )


def _names(tools: Sequence[JsonValue]) -> set[JsonValue]:
    functions = [tool.get("function", tool) for tool in tools if isinstance(tool, Mapping)]
    names = [function.get("name") for function in functions if isinstance(function, Mapping)]
    return {name for name in names if isinstance(name, str)}


def _refuse_unknown_ids(options: JsonObject, vocab_size: int) -> None:
    """Ids outside the vocabulary end some engines; without a known size any non-negative id passes."""
    bias, stops = options.get("logit_bias", {}), options.get("stop_token_ids", [])
    assert isinstance(bias, Mapping)  # noqa: S101 - checked above
    assert isinstance(stops, list)  # noqa: S101 - checked above
    named = [("logit_bias", int(key)) for key in bias] + [("stop_token_ids", stop) for stop in stops]
    for field, token_id in named:
        if token_id < 0 or (vocab_size and token_id >= vocab_size):
            refuse(field, f"{field} names the token id {token_id}, outside the vocabulary of {vocab_size}")


def _is_number(value: JsonValue, least: float, most: float) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return least <= value <= most and math.isfinite(value)


def _number(least: float, most: float) -> Callable[[JsonValue], bool]:
    return lambda value: _is_number(value, least, most)


def _is_integer(value: JsonValue, least: int, most: int = _INT64) -> bool:
    return type(value) is int and least <= value < most


def _integer(least: int, most: int = _INT64) -> Callable[[JsonValue], bool]:
    return lambda value: _is_integer(value, least, most)


def _is_flag(value: JsonValue) -> bool:
    return isinstance(value, bool)


def _is_text(value: JsonValue) -> bool:
    return isinstance(value, str)


def _is_stop(value: JsonValue) -> bool:
    if isinstance(value, str):
        return True
    return isinstance(value, list) and len(value) <= _MAX_STOPS and all(map(_is_text, value))


def _are_ids(value: JsonValue) -> bool:
    return isinstance(value, list) and all(type(item) is int for item in value)


def _is_bias(value: JsonValue) -> bool:
    if not isinstance(value, Mapping):
        return False
    ids = all(key.isascii() and key.isdigit() and len(key) <= _MAX_ID_DIGITS for key in value)
    return ids and all(_is_number(bias, -_MAX_BIAS, _MAX_BIAS) for bias in value.values())


def _is_response_format(value: JsonValue) -> bool:
    kind = value.get("type") if isinstance(value, Mapping) else None
    if kind != "json_schema":
        return kind in _RESPONSE_FORMATS
    named = value.get("json_schema") if isinstance(value, Mapping) else None
    return isinstance(named, Mapping) and isinstance(named.get("schema"), Mapping | bool)


_Check = tuple[Callable[[JsonValue], bool], str]
_PENALTY: _Check = (_number(-2, 2), "a number from -2 to 2")
_TOKENS: _Check = (_integer(1), "an integer of at least 1")
_CHECKS: Mapping[str, _Check] = {
    "temperature": (_number(0, 100), "a number of at least 0"),
    "top_p": (lambda value: _is_number(value, 0, 1) and value != 0, "a number above 0 and at most 1"),
    "min_p": (_number(0, 1), "a number from 0 to 1"),
    "top_k": (_integer(-1), "an integer of at least -1"),
    "presence_penalty": _PENALTY,
    "frequency_penalty": _PENALTY,
    "repetition_penalty": (_number(1e-6, 2), "a number above 0 and at most 2"),
    "max_tokens": _TOKENS,
    "max_completion_tokens": _TOKENS,
    "min_tokens": (_integer(0), "an integer of at least 0"),
    "seed": (_integer(-_INT64), "an integer of 64 bits"),
    "stop": (_is_stop, f"a string, or at most {_MAX_STOPS} strings"),
    "stop_token_ids": (_are_ids, "a list of token ids"),
    "logit_bias": (_is_bias, f"an object from token ids to numbers from -{_MAX_BIAS} to {_MAX_BIAS}"),
    "logprobs": (_is_flag, "true or false"),
    "top_logprobs": (_integer(0, _MAX_TOP_LOG_PROBS + 1), f"an integer from 0 to {_MAX_TOP_LOG_PROBS}"),
    "parallel_tool_calls": (_is_flag, "true or false"),
    "ignore_eos": (_is_flag, "true or false"),
    "skip_special_tokens": (_is_flag, "true or false"),
    "regex": (_is_text, "a string"),
    "ebnf": (_is_text, "a string"),
    "response_format": (_is_response_format, f"an object with a type of {', '.join(_RESPONSE_FORMATS)}"),
}


__all__ = ["engine_options", "refuse", "refuse_tool_choice"]
