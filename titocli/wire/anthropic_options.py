"""The parameters of an Anthropic request as the engine's options, in OpenAI's spelling.

None of them changes the text of a prompt.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from titocli.errors import InvalidTools, UnsupportedRequest
from titocli.jsonvalue import JsonObject, JsonValue, Tool

_CHOICES = {"auto": "auto", "any": "required", "none": "none"}
_CUSTOM = (None, "custom")
#: Engines keep counts in 32 bits.
_MAX_COUNT = 2**31


def engine_options(body: JsonObject) -> dict[str, JsonValue]:
    """Sampling, stop sequences, tool choice and output format; raises ``UnsupportedRequest``."""
    options: dict[str, JsonValue] = {"max_tokens": _max_tokens(body)}
    for name, most in (("temperature", sys.float_info.max), ("top_p", 1.0)):
        if body.get(name) is not None:
            options[name] = _number(body, name, most)
    # 0 is Anthropic's way to say that every token may be drawn.
    if top_k := _count(body, "top_k"):
        options["top_k"] = top_k
    if (seed := body.get("seed")) is not None:
        options["seed"] = seed
    if stops := stop_sequences(body):
        options["stop"] = list(stops)
    return {**options, **_tool_choice(body), **_output_format(body)}


def stop_sequences(body: JsonObject) -> tuple[str, ...]:
    """The request's own stop sequences; raises ``UnsupportedRequest``."""
    stops = body.get("stop_sequences")
    if stops is None:
        return ()
    if isinstance(stops, str) or not isinstance(stops, Sequence):
        raise refused("stop_sequences", "must be a list of strings")
    if not all(isinstance(stop, str) and stop for stop in stops):
        raise refused("stop_sequences", "holds something that is not a string, or empty")
    return tuple(str(stop) for stop in stops)


def custom_tools(body: JsonObject) -> list[Tool] | None:
    """The tools in OpenAI's shape, None where the request has none.

    Name, description and schema alone: marks of caching and loading are not for the model.  Raises
    ``UnsupportedRequest`` for tools that the provider runs or describes, ``InvalidTools``.
    """
    tools = body.get("tools")
    if tools is None:
        return None
    if isinstance(tools, str) or not isinstance(tools, Sequence):
        raise InvalidTools("tools must be a list", details={"param": "tools"})
    made = [_custom_tool(f"tools[{index}]", tool) for index, tool in enumerate(tools)]
    names = _names(made)
    if len(set(names)) < len(names):
        raise InvalidTools("two tools have one name", details={"param": "tools"})
    return made


def _custom_tool(path: str, tool: JsonValue) -> Tool:
    if not isinstance(tool, Mapping) or not isinstance(tool.get("name"), str) or not tool["name"]:
        raise InvalidTools(f"{path} is not an object with a name", details={"param": path})
    kind = tool.get("type")
    if kind not in _CUSTOM:
        raise UnsupportedRequest(
            f"{path}: server tool {str(tool['name'])[:40]!r} (type {str(kind)[:40]!r}) is not served",
            hint="give a custom tool with an input_schema and run it on the client's side",
            details={"param": path},
        )
    if not isinstance(tool.get("input_schema"), Mapping):
        raise InvalidTools(f"{path}.input_schema is not an object", details={"param": f"{path}.input_schema"})
    described = tool.get("description")
    if described is not None and not isinstance(described, str):
        raise InvalidTools(f"{path}.description is not a string", details={"param": f"{path}.description"})
    description = {} if described is None else {"description": described}
    return {
        "type": "function",
        "function": {"name": tool["name"], **description, "parameters": tool["input_schema"]},
    }


def _names(tools: Sequence[Tool]) -> list[str]:
    functions = [tool["function"] for tool in tools]
    return [str(function["name"]) for function in functions if isinstance(function, Mapping)]


def _tool_choice(body: JsonObject) -> dict[str, JsonValue]:
    choice = body.get("tool_choice")
    if choice is None:
        return {}
    if not isinstance(choice, Mapping):
        raise refused("tool_choice", "must be an object")
    options: dict[str, JsonValue] = {"tool_choice": _chosen(body, choice)}
    if choice.get("disable_parallel_tool_use"):
        options["parallel_tool_calls"] = False
    return options


def _chosen(body: JsonObject, choice: JsonObject) -> JsonValue:
    kind, name = choice.get("type"), choice.get("name")
    if isinstance(kind, str) and kind in _CHOICES:
        return _CHOICES[kind]
    if kind != "tool":
        raise refused("tool_choice.type", f"is none of {', '.join(_CHOICES)}, tool")
    if not isinstance(name, str):
        raise refused("tool_choice.name", "is not a string")
    tools = custom_tools(body)
    if tools and name not in _names(tools):
        raise refused("tool_choice.name", f"{name[:40]!r} is none of the request's tools")
    return {"type": "function", "function": {"name": name}}


def _output_format(body: JsonObject) -> dict[str, JsonValue]:
    config = body.get("output_config")
    asked = config.get("format") if isinstance(config, Mapping) else None
    if asked is None:
        return {}
    schema = asked.get("schema") if isinstance(asked, Mapping) else None
    if (
        not isinstance(asked, Mapping)
        or asked.get("type") != "json_schema"
        or not isinstance(schema, Mapping)
    ):
        raise refused("output_config.format", "is not a json_schema with a schema")
    return {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "output", "schema": schema, "strict": True},
        }
    }


def _max_tokens(body: JsonObject) -> int:
    most = _count(body, "max_tokens")
    if not most:
        raise refused("max_tokens", "must be given, and at least 1")
    return most


def _count(body: JsonObject, name: str) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _MAX_COUNT:
        raise refused(name, "must be a whole number from 0 on, of 31 bits")
    return value


def _number(body: JsonObject, name: str, most: float) -> float:
    value = body[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise refused(name, f"must be a number from 0 to {most:g}")
    return value


def refused(param: str, what: str) -> UnsupportedRequest:
    """The error about one parameter: ``what`` goes on after its name."""
    return UnsupportedRequest(f"{param} {what}", hint="see docs/anthropic.md", details={"param": param})


__all__ = ["custom_tools", "engine_options", "refused", "stop_sequences"]
