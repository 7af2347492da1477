"""An assistant's tool calls: names, ids, and arguments in whatever form they come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from titocli.families.client_json import SpelledObject
from titocli.families.family import Family, ToolCallGrammar
from titocli.families.json_text import Pairs, parse_json
from titocli.families.messages.refusal import invalid, json_type
from titocli.jsonvalue import JsonObject, JsonValue

#: Grammars that print arguments as JSON, and text as it is; the others print an object's members.
_PRINT_JSON = (ToolCallGrammar.HERMES_JSON, ToolCallGrammar.KIMI_SECTIONS)
#: The one argument that stands for arguments that are no object.
RAW_ARGUMENTS = "arguments"
_HINT = "arguments are an object, or the text of one"


def tool_calls_of(family: Family, index: int, calls: JsonValue) -> list[JsonObject]:
    """The calls, each with arguments that the family's template prints; raises ``InvalidMessages``."""
    if isinstance(calls, str) or not isinstance(calls, Sequence):
        raise invalid(index, f"has tool_calls of type {json_type(calls)}")
    return [_tool_call(family, index, call) for call in calls]


def _tool_call(family: Family, index: int, call: JsonValue) -> JsonObject:
    function = call.get("function", call) if isinstance(call, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(function, Mapping):
        raise invalid(index, "has a tool call that is not an object")
    if not isinstance(function.get("name"), str):
        raise invalid(index, "has a tool call without a function name")
    _refuse_without_id(family, index, call)
    normal = {**function, "arguments": _arguments(family, index, function.get("arguments"))}
    return {**call, "function": normal} if "function" in call else normal


def _refuse_without_id(family: Family, index: int, call: JsonObject) -> None:
    if family.parsers.tool_call is ToolCallGrammar.KIMI_SECTIONS and not isinstance(call.get("id"), str):
        raise invalid(
            index,
            f"has a tool call without an id, which family {family.name!r} prints",
            hint="Kimi's own form is functions.NAME:INDEX",
        )


def _arguments(family: Family, index: int, arguments: JsonValue) -> JsonValue:
    prints_json = family.parsers.tool_call in _PRINT_JSON
    parsed = _parsed(arguments, prints_json) if isinstance(arguments, str) else _spelled(arguments)
    if parsed is None:
        return {}
    if isinstance(parsed, Mapping):
        return parsed
    if not isinstance(parsed, str):
        raise invalid(index, "has tool-call arguments that are not a JSON object", hint=_HINT)
    return parsed if prints_json else {RAW_ARGUMENTS: parsed}


def _spelled(arguments: JsonValue) -> JsonValue:
    # Not looked into: an object that has a spelled number anywhere is such an object itself.
    return arguments.spelled if isinstance(arguments, SpelledObject) else arguments


def _parsed(text: str, prints_json: bool) -> JsonValue:
    """An object, None for nothing at all, or the text itself."""
    if not text.strip():
        return None
    try:
        value = parse_json(text, pairs=_once if prints_json else None)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, Mapping) or value is None else text


def _once(pairs: Pairs) -> JsonValue:
    """The object of these members; raises ``ValueError`` where a key comes twice, for it would lose one."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError
    return made


__all__ = ["RAW_ARGUMENTS", "tool_calls_of"]
