"""Messages and tools as templates want them: one place, the same on first render and on append.

Policies:

* ``developer`` is OpenAI's newer word for ``system``; templates only know the latter.
* content null or missing is the empty string; a list of text parts is their concatenation.
* ``reasoning`` is read where ``reasoning_content`` is missing or empty (the newer name of servers).
* tool-call arguments become an object; ``""``, null and missing are the empty object.  Text that is no JSON
  object stays verbatim for families that print arguments as JSON, and is refused for the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from titocli.errors import InvalidMessages, InvalidTools
from titocli.families.family import Family, Role, ToolCallGrammar
from titocli.jsonvalue import JsonObject, JsonValue, Message, Tool

_ROLE_ALIASES = {"developer": Role.SYSTEM.value}
_ROLES = frozenset(role.value for role in Role)


def normalise_messages(family: Family, messages: JsonValue) -> list[Message]:
    """A whole conversation ready for the family's template; the input is not changed.

    Raises ``InvalidMessages`` naming the index of the first message that cannot be used.
    """
    return normalise_appended(family, message_list(messages), first=0)


def normalise_appended(family: Family, messages: Sequence[Message], *, first: int) -> list[Message]:
    """Messages of a conversation from index ``first`` on, ready for the family's template."""
    return [_normalise(family, index, message) for index, message in enumerate(messages, start=first)]


def message_list(messages: JsonValue) -> list[Message]:
    """The messages as a list of objects that have a role; raises ``InvalidMessages``."""
    if isinstance(messages, str) or not isinstance(messages, Sequence):
        raise InvalidMessages(
            f"messages must be a list, not {_json_type(messages)}",
            hint='expected [{"role": "user", "content": "..."}, ...]',
        )
    if not messages:
        raise InvalidMessages("there are no messages", hint="a conversation has at least one message")
    return [_object(index, message) for index, message in enumerate(messages)]


def _object(index: int, message: JsonValue) -> Message:
    if not isinstance(message, Mapping):
        raise _invalid(index, f"is {_json_type(message)}, not an object")
    _role(index, message.get("role"))
    return message


def _normalise(family: Family, index: int, message: Message) -> Message:
    normal = dict(message)
    normal["role"] = _role(index, message.get("role"))
    normal["content"] = _content(family, index, message.get("content"))
    if not message.get("reasoning_content") and isinstance(message.get("reasoning"), str):
        normal["reasoning_content"] = message["reasoning"]
    if message.get("tool_calls"):
        normal["tool_calls"] = _tool_calls(family, index, message["tool_calls"])
    return normal


def _role(index: int, role: JsonValue) -> str:
    if not isinstance(role, str):
        raise _invalid(index, "has no role")
    known = _ROLE_ALIASES.get(role, role)
    if known not in _ROLES:
        raise _invalid(index, f"has the unknown role {role[:40]!r}")
    return known


def _content(family: Family, index: int, content: JsonValue) -> JsonValue:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        raise _invalid(index, f"has content of type {_json_type(content)}")
    kinds = {_part_kind(index, part) for part in content}
    unknown = kinds - set(family.content_parts)
    if unknown:
        raise _invalid(
            index, f"has a content part {min(unknown)!r} that family {family.name!r} cannot render"
        )
    return content if kinds - {"text"} else "".join(_part_text(index, part) for part in content)


def _part_kind(index: int, part: JsonValue) -> str:
    if not isinstance(part, Mapping):
        raise _invalid(index, f"has a content part of type {_json_type(part)}")
    kind = part.get("type", "text" if "text" in part else None)
    if not isinstance(kind, str):
        raise _invalid(index, "has a content part without a type")
    return kind


def _part_text(index: int, part: JsonValue) -> str:
    text = part.get("text") if isinstance(part, Mapping) else None
    if not isinstance(text, str):
        raise _invalid(index, "has a text part without text")
    return text


def _tool_calls(family: Family, index: int, calls: JsonValue) -> list[JsonObject]:
    if isinstance(calls, str) or not isinstance(calls, Sequence):
        raise _invalid(index, f"has tool_calls of type {_json_type(calls)}")
    return [_tool_call(family, index, call) for call in calls]


def _tool_call(family: Family, index: int, call: JsonValue) -> JsonObject:
    function = call.get("function", call) if isinstance(call, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(function, Mapping):
        raise _invalid(index, "has a tool call that is not an object")
    if not isinstance(function.get("name"), str):
        raise _invalid(index, "has a tool call without a function name")
    normal = {**function, "arguments": _arguments(family, index, function.get("arguments"))}
    return {**call, "function": normal} if "function" in call else normal


def _arguments(family: Family, index: int, arguments: JsonValue) -> JsonValue:
    if arguments is None or arguments == "":
        return {}
    parsed = _parse_object(arguments) if isinstance(arguments, str) else arguments
    if isinstance(parsed, Mapping):
        return parsed
    if isinstance(arguments, str) and family.parsers.tool_call is ToolCallGrammar.HERMES_JSON:
        return arguments
    raise _invalid(index, "has tool-call arguments that are not a JSON object")


def _parse_object(text: str) -> JsonValue:
    try:
        parsed: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return parsed


def normalise_tools(tools: JsonValue) -> list[Tool]:
    """Tools in OpenAI's shape, keys and order untouched; null and ``[]`` are no tools.

    A bare function object is wrapped.  Raises ``InvalidTools``.
    """
    if tools is None:
        return []
    if isinstance(tools, str) or not isinstance(tools, Sequence):
        raise InvalidTools(f"tools must be a list, not {_json_type(tools)}", hint=_TOOL_HINT)
    return [_tool(index, tool) for index, tool in enumerate(tools)]


def _tool(index: int, tool: JsonValue) -> Tool:
    function = tool.get("function", tool) if isinstance(tool, Mapping) else None
    if not isinstance(tool, Mapping) or not isinstance(function, Mapping):
        raise InvalidTools(f"tool {index} is not an object", details={"tool_index": index}, hint=_TOOL_HINT)
    if not isinstance(function.get("name"), str):
        raise InvalidTools(
            f"tool {index} has no function name", details={"tool_index": index}, hint=_TOOL_HINT
        )
    return tool if "function" in tool else {"type": "function", "function": tool}


def tool_names(tools: Iterable[Tool]) -> tuple[str, ...]:
    """The function names of normalised tools, in order."""
    functions = [tool["function"] for tool in tools]
    return tuple(str(function["name"]) for function in functions if isinstance(function, Mapping))


def _invalid(index: int, what: str) -> InvalidMessages:
    return InvalidMessages(f"message {index} {what}", details={"message_index": index}, hint=_HINT)


_HINT = "a message has a role (system, user, assistant, tool) and content (text, or a list of parts)"

_TOOL_HINT = 'a tool is {"type": "function", "function": {"name": ..., "parameters": ...}}'

_JSON_TYPES = {bool: "a boolean", int: "a number", float: "a number", str: "a string", type(None): "null"}


def _json_type(value: JsonValue) -> str:
    if isinstance(value, Mapping):
        return "an object"
    return _JSON_TYPES.get(type(value), "a list")


__all__ = ["message_list", "normalise_appended", "normalise_messages", "normalise_tools", "tool_names"]
