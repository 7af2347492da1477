"""A conversation's messages, one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from titocli.errors import InvalidMessages
from titocli.families.family import Family, Role
from titocli.families.messages.content import content_of
from titocli.families.messages.reasoning import reasoning_of
from titocli.families.messages.refusal import invalid, json_type
from titocli.families.messages.tool_calls import tool_calls_of
from titocli.jsonvalue import JsonValue, Message

_ROLE_ALIASES = {"developer": Role.SYSTEM.value}
_ROLES = frozenset(role.value for role in Role)
#: Members that are read here and written anew.
_READ = frozenset({"role", "content", "reasoning", "reasoning_content", "tool_calls"})


def normalise_messages(family: Family, messages: JsonValue) -> list[Message]:
    """A whole conversation ready for the family's template; the input is not changed.

    Raises ``InvalidMessages`` naming the index of the first message that cannot be used.
    """
    listed = message_list(messages)
    if listed[0]["role"] == Role.TOOL:
        raise invalid(0, "is a tool result that no call asked for", hint="keep the call before its result")
    return normalise_appended(family, listed, first=0)


def normalise_appended(family: Family, messages: Sequence[Message], *, first: int) -> list[Message]:
    """Messages of a conversation from index ``first`` on, ready for the family's template."""
    return [_normalise(family, index, message) for index, message in enumerate(messages, start=first)]


def message_list(messages: JsonValue) -> list[Message]:
    """The messages as a list of objects that have a role; raises ``InvalidMessages``."""
    if isinstance(messages, str) or not isinstance(messages, Sequence):
        raise InvalidMessages(
            f"messages must be a list, not {json_type(messages)}",
            hint='expected [{"role": "user", "content": "..."}, ...]',
        )
    if not messages:
        raise InvalidMessages("there are no messages", hint="a conversation has at least one message")
    return [_object(index, message) for index, message in enumerate(messages)]


def _object(index: int, message: JsonValue) -> Message:
    if not isinstance(message, Mapping):
        raise invalid(index, f"is {json_type(message)}, not an object")
    _role(index, message.get("role"))
    return message


def _normalise(family: Family, index: int, message: Message) -> Message:
    normal = {name: value for name, value in message.items() if value is not None and name not in _READ}
    role = _role(index, message.get("role"))
    content = content_of(family, index, message.get("content"))
    if role == Role.ASSISTANT:
        reasoning, content = reasoning_of(family, index, message, content)
        if reasoning is not None:
            normal["reasoning_content"] = reasoning
    if message.get("tool_calls"):
        normal["tool_calls"] = tool_calls_of(family, index, message["tool_calls"])
    return {"role": role, "content": content, **normal}


def _role(index: int, role: JsonValue) -> str:
    if not isinstance(role, str):
        raise invalid(index, "has no role")
    known = _ROLE_ALIASES.get(role, role)
    if known not in _ROLES:
        raise invalid(index, f"has the unknown role {role[:40]!r}")
    return known


__all__ = ["message_list", "normalise_appended", "normalise_messages"]
