"""Tool calls on Anthropic's wire: their ids, and their arguments as an object.

The stored call stays as the engine made it; these are its pure projections.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b

import msgspec

from titocli.families.messages.tool_calls import RAW_ARGUMENTS
from titocli.jsonvalue import JsonObject, JsonValue

#: What Anthropic's API takes for the id of a tool call.
_WIRE_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_KEPT_CHARACTERS = 48


def wire_id(call_id: str) -> str:
    """The id itself where Anthropic's clients can send it back, else a legal one that is made of it.

    Kimi's own ids (``functions.search:0``) have a dot and a colon.
    """
    if _WIRE_ID.fullmatch(call_id):
        return call_id
    legal = re.sub(r"[^a-zA-Z0-9_-]", "_", call_id)[:_KEPT_CHARACTERS]
    return f"{legal}_{blake2b(call_id.encode(errors='replace'), digest_size=4).hexdigest()}"


def input_text(arguments: JsonValue) -> str:
    """Arguments as the JSON text of an object, spelled as they are stored.

    Nothing is ``{}``.  Text that is no JSON object (cut off, another type, a number that no parser takes) is
    the one member ``arguments``: a client can see it, and no text of a model ends a rollout.
    """
    if not isinstance(arguments, str):
        return _encoded(arguments if isinstance(arguments, Mapping) else {})
    if not arguments.strip():
        return "{}"
    return arguments if _is_object(arguments) else _encoded({RAW_ARGUMENTS: arguments})


def same_input(arguments: JsonValue, replayed: JsonValue) -> bool:
    """Whether ``replayed`` is what a client makes of stored arguments by parsing and writing them again."""
    return _same(msgspec.json.decode(input_text(arguments)), replayed)


def calls_of(message: JsonObject) -> list[JsonObject]:
    """The tool calls of a message in OpenAI's shape; what is none is left out."""
    calls = message.get("tool_calls")
    listed = calls if isinstance(calls, Sequence) and not isinstance(calls, str) else ()
    return [call for call in listed if isinstance(call, Mapping)]


def function_of(call: JsonObject) -> JsonObject:
    """The function of a call; empty where it has none."""
    function = call.get("function")
    return function if isinstance(function, Mapping) else {}


def _is_object(text: str) -> bool:
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False


def _encoded(value: JsonObject) -> str:
    return msgspec.json.encode(value).decode()


def _same(left: JsonValue, right: JsonValue) -> bool:
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right or _same_double(left, right)
    return left == right


def _same_double(left: float, right: float) -> bool:
    """Whether clients that have nothing but doubles take two numbers for one."""
    try:
        return float(left) == float(right)
    except OverflowError:
        return False


__all__ = ["calls_of", "function_of", "input_text", "same_input", "wire_id"]
