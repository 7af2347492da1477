"""Tools and tool calls for generated conversations."""

from __future__ import annotations

import json
from random import Random

from titocli.families.family import Family, ToolCallGrammar
from titocli.jsonvalue import JsonObject, JsonValue, Tool
from titocli.verify.text_samples import any_text, chance

#: Tools in OpenAI's shape.  The order of keys, unicode and unusual schemas are printed as they stand.
TOOLS: tuple[Tool, ...] = (
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Weather of a city, e.g. “München” or 東京 <b>now</b> & later",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "unit": {"enum": ["°C", "°F"]}},
                "required": ["city"],
            },
        },
    },
    {
        "function": {
            "parameters": {
                "properties": {
                    "z": {"type": ["integer", "null"], "default": None},
                    "a": {"type": "array", "items": {"type": "object", "additionalProperties": False}},
                },
                "type": "object",
            },
            "name": "search",
            "strict": False,
            "description": 'line one\nline two "quoted"',
        },
        "type": "function",
    },
    {"type": "function", "function": {"name": "now", "parameters": {}}},
)

_NAMES = ("get_weather", "search", "now", "наме_工具")
_SCALARS: tuple[JsonValue, ...] = (
    0,
    -3,
    1.5,
    1e-07,
    2**40,
    True,
    False,
    None,
    "",
    "Zürich",
    "<&>",
    "1",
    "null",
)
#: Arguments that are no JSON object: models write such text, and JSON templates print it verbatim.
BROKEN_ARGUMENTS = ('{"city": "Par', "Paris", "[1, 2]")


def tools(random: Random) -> tuple[Tool, ...] | None:
    """None, an empty list, or some of ``TOOLS`` in any order."""
    if chance(random, 0.25):
        return None
    if chance(random, 0.12):
        return ()
    return tuple(random.sample(TOOLS, k=random.randint(1, len(TOOLS))))


def tool_call(random: Random, family: Family, number: int) -> JsonObject:
    """One call in OpenAI's shape; its arguments are an object or JSON text."""
    function = {"name": random.choice(_NAMES), "arguments": _arguments(random, family)}
    return {"id": f"call_{number}", "type": "function", "function": function}


def _arguments(random: Random, family: Family) -> JsonValue:
    if family.parsers.tool_call is ToolCallGrammar.HERMES_JSON and chance(random, 0.05):
        return random.choice(BROKEN_ARGUMENTS)
    names = random.sample(("city", "days", "z", "a", "длина", "with space"), k=random.randint(0, 4))
    arguments = {name: _value(random, depth=2) for name in names}
    as_text = chance(random, 0.35)
    return json.dumps(arguments, ensure_ascii=chance(random, 0.5)) if as_text else arguments


def _value(random: Random, depth: int) -> JsonValue:
    if depth and chance(random, 0.15):
        return [_value(random, depth - 1) for _ in range(random.randint(0, 3))]
    if depth and chance(random, 0.18):
        return {name: _value(random, depth - 1) for name in random.sample("bac", k=random.randint(0, 3))}
    return any_text(random) if chance(random, 0.5) else random.choice(_SCALARS)


__all__ = ["BROKEN_ARGUMENTS", "TOOLS", "tool_call", "tools"]
