"""Which tools a completion may or must call, read from OpenAI's ``tool_choice``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from titocli.errors import UnsupportedRequest
from titocli.families.family import Family
from titocli.families.messages import tool_names
from titocli.jsonvalue import JsonValue, Tool
from titocli.session.generation import GenerateRequest


class Need(StrEnum):
    """Whether there are calls."""

    NONE = "none"
    AUTO = "auto"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolChoice:
    """The tools that may be called."""

    need: Need
    tools: tuple[Tool, ...] = ()


def read_tool_choice(family: Family, request: GenerateRequest) -> ToolChoice:
    """What ``tool_choice`` of the request's options asks for; ``auto`` where it is missing.

    Raises ``UnsupportedRequest`` for a value that is none of OpenAI's, for a name that is no tool of the
    request, and for required calls where there are no tools or the family has no tool-call grammar.
    """
    asked = request.options.get("tool_choice")
    named = _named(asked)
    need = Need.REQUIRED if named is not None else _need(asked)
    tools = tuple(request.tools) if named is None else _only(named, request)
    if need is Need.REQUIRED and not (tools and family.parsers.tool_call):
        raise _refused("tool calls are required, but there are no tools or the family cannot call them")
    if not tools or family.parsers.tool_call is None or need is Need.NONE:
        return ToolChoice(need=Need.NONE)
    return ToolChoice(need=need, tools=tools)


def _need(asked: JsonValue) -> Need:
    try:
        return Need.AUTO if asked is None else Need(str(asked))
    except ValueError:
        raise _refused("tool_choice is none of OpenAI's values") from None


def _named(asked: JsonValue) -> str | None:
    function = asked.get("function") if isinstance(asked, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    return name if isinstance(name, str) else None


def _only(name: str, request: GenerateRequest) -> tuple[Tool, ...]:
    names = tool_names(request.tools)
    found = tuple(tool for tool, known in zip(request.tools, names, strict=True) if known == name)
    if not found:
        raise _refused("tool_choice names a function that is none of the request's tools")
    return found


def _refused(sentence: str) -> UnsupportedRequest:
    return UnsupportedRequest(
        sentence,
        hint='"none", "auto", "required" or {"type": "function", "function": {"name": ...}}',
        details={"param": "tool_choice"},
    )


__all__ = ["Need", "ToolChoice", "read_tool_choice"]
