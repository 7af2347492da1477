"""What is said about a message that cannot be used."""

from __future__ import annotations

from collections.abc import Mapping

from titocli.errors import InvalidMessages
from titocli.jsonvalue import JsonValue

_HINT = "a message has a role (system, user, assistant, tool) and content (text, or a list of parts)"
_JSON_TYPES = {bool: "a boolean", int: "a number", float: "a number", str: "a string", type(None): "null"}


def invalid(index: int, what: str, *, hint: str = _HINT) -> InvalidMessages:
    """The error about message ``index``: ``what`` goes on after its number."""
    return InvalidMessages(f"message {index} {what}", details={"message_index": index}, hint=hint)


def json_type(value: JsonValue) -> str:
    """The JSON type of a value, with its article."""
    if isinstance(value, Mapping):
        return "an object"
    return _JSON_TYPES.get(type(value), "a list")


__all__ = ["invalid", "json_type"]
