"""Tools in OpenAI's shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from titocli.errors import InvalidTools
from titocli.families.messages.refusal import json_type
from titocli.jsonvalue import JsonValue, Tool

_HINT = 'a tool is {"type": "function", "function": {"name": ..., "parameters": ...}}'


def normalise_tools(tools: JsonValue) -> list[Tool]:
    """Tools in OpenAI's shape, keys and order untouched; null and ``[]`` are no tools.

    A bare function object is wrapped.  Raises ``InvalidTools``.
    """
    if tools is None:
        return []
    if isinstance(tools, str) or not isinstance(tools, Sequence):
        raise InvalidTools(f"tools must be a list, not {json_type(tools)}", hint=_HINT)
    return [_tool(index, tool) for index, tool in enumerate(tools)]


def _tool(index: int, tool: JsonValue) -> Tool:
    function = tool.get("function", tool) if isinstance(tool, Mapping) else None
    if not isinstance(tool, Mapping) or not isinstance(function, Mapping):
        raise InvalidTools(f"tool {index} is not an object", details={"tool_index": index}, hint=_HINT)
    if not isinstance(function.get("name"), str):
        raise InvalidTools(f"tool {index} has no function name", details={"tool_index": index}, hint=_HINT)
    return tool if "function" in tool else {"type": "function", "function": tool}


def tool_names(tools: Iterable[Tool]) -> tuple[str, ...]:
    """The function names of normalised tools, in order."""
    functions = [tool["function"] for tool in tools]
    return tuple(str(function["name"]) for function in functions if isinstance(function, Mapping))


__all__ = ["normalise_tools", "tool_names"]
