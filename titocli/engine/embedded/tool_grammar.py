"""The tool calls that a family's template would write, as a grammar."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from titocli.engine.embedded.grammar import Expr, choice, literal, optional, sequence
from titocli.engine.embedded.json_schema import Spelling, properties, value
from titocli.families.family import ToolCallGrammar
from titocli.jsonvalue import JsonObject, Tool

_OPEN, _CLOSE = literal("<tool_call>\n"), literal("\n</tool_call>")
_BETWEEN_CALLS = literal("\n")


def one_or_two_calls(syntax: ToolCallGrammar, tools: Sequence[Tool]) -> Expr:
    """One or two calls of any of ``tools``, without a newline at the end."""
    call = choice(*(tool_call(syntax, tool) for tool in tools))
    return sequence(call, optional(sequence(_BETWEEN_CALLS, call)))


def tool_call(syntax: ToolCallGrammar, tool: Tool) -> Expr:
    """One call of ``tool``, tags included."""
    function = tool.get("function", tool)
    body = _BODIES[syntax](function if isinstance(function, Mapping) else {})
    return sequence(_OPEN, body, _CLOSE)


def before_calls(syntax: ToolCallGrammar) -> Expr:
    """What the templates of that syntax write between content and the first call."""
    return literal("\n\n" if syntax is ToolCallGrammar.XML_PARAMETERS else "\n")


def _hermes_body(function: JsonObject) -> Expr:
    name = json.dumps(function.get("name"), ensure_ascii=False)
    arguments = value({**_parameters(function), "type": "object"})
    return sequence(literal(f'{{"name": {name}, "arguments": '), arguments, literal("}"))


def _xml_body(function: JsonObject) -> Expr:
    parameters = [
        sequence(literal(f"<parameter={name}>\n"), value(schema, Spelling.RAW), literal("\n</parameter>\n"))
        for name, schema in properties(_parameters(function)).items()
    ]
    return sequence(literal(f"<function={function.get('name')}>\n"), *parameters, literal("</function>"))


def _parameters(function: JsonObject) -> JsonObject:
    found = function.get("parameters")
    plain = ("properties", "required")
    return {key: found[key] for key in plain if key in found} if isinstance(found, Mapping) else {}


_BODIES = {
    ToolCallGrammar.HERMES_JSON: _hermes_body,
    ToolCallGrammar.XML_PARAMETERS: _xml_body,
    ToolCallGrammar.XML_PARAMETERS_LINES: _xml_body,
}


__all__ = ["before_calls", "one_or_two_calls", "tool_call"]
