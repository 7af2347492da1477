"""Kimi's tool declaration: tools as TypeScript text, the ``tools_ts_str`` of the templates.

The tokenizer class of Kimi-K2.5 and K2.6 sorts the keys of the tools, writes their schemas as TypeScript and
hands the text to the template; where a schema cannot be written so, the template prints the sorted tools as
JSON.  A bare Jinja render knows nothing of this, so the renderer computes the text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from titocli.families.family import Family
from titocli.families.json_text import to_json
from titocli.families.typescript import function_type
from titocli.jsonvalue import JsonValue, Tool

#: The template kwarg that carries the text.
KWARG = "tools_ts_str"


def with_tools_text(
    family: Family, tools: Sequence[Tool], kwargs: Mapping[str, JsonValue]
) -> Mapping[str, JsonValue]:
    """``kwargs`` with the text of ``tools``, for a family that pins it and where nobody gave it."""
    if not tools or KWARG not in family.pinned_kwargs or kwargs.get(KWARG) is not None:
        return kwargs
    return {**kwargs, KWARG: tools_text(tools)}


def tools_text(tools: Sequence[Tool]) -> str:
    """The declaration of normalised ``tools``: TypeScript, or compact JSON where that cannot be written.

    The order of keys does not matter; that of the tools does.
    """
    ordered = _sorted(tools)
    functions = _functions(ordered)
    if not functions:
        return to_json(ordered, separators=(",", ":"))
    return "# Tools\n\n## functions\nnamespace functions {\n" + "\n".join(functions) + "\n}\n"


def _functions(ordered: JsonValue) -> list[str]:
    """The types of the functions; none where one of them cannot be written."""
    tools = ordered if isinstance(ordered, list) else []
    try:
        # A tool without a type is a function: engines fill that in before the tokenizer sees it.
        return [
            function_type(tool["function"]) for tool in tools if tool.get("type", "function") == "function"
        ]
    except (AttributeError, KeyError, TypeError, ValueError):
        # A schema can be wrong in any way; the tokenizer class falls back as well, whatever is raised.
        return []


def _sorted(value: JsonValue) -> JsonValue:
    if isinstance(value, Mapping):
        return {key: _sorted(item) for key, item in sorted(value.items())}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_sorted(item) for item in value]
    return value


__all__ = ["KWARG", "tools_text", "with_tools_text"]
