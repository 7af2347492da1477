"""DeepSeek's tool-call markup (DSML) and the tokens that its encoders write.

A call is an ``invoke`` block with one ``parameter`` block for each argument: a string stands as it is, with
``string="true"``, anything else is JSON.  The versions differ in the names of the tags and in the text that
introduces the tools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from titocli.families.json_text import to_json
from titocli.jsonvalue import JsonObject, JsonValue, Message, Tool

BOS = "<｜begin▁of▁sentence｜>"
EOS = "<｜end▁of▁sentence｜>"
SYSTEM = "<｜System｜>"
USER = "<｜User｜>"
ASSISTANT = "<｜Assistant｜>"
THINK = "<think>"
END_THINK = "</think>"
DSML = "｜DSML｜"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tags:
    """The names of one version's tags; a space before a name is part of it."""

    calls: str
    invoke: str
    parameter: str


V32_TAGS = Tags(calls="function_calls", invoke="invoke", parameter="parameter")
V4_TAGS = Tags(calls="tool_calls", invoke="invoke", parameter="parameter")
V41_TAGS = Tags(calls=" calls", invoke=" invoke", parameter=" parameter")


def opening(tag: str, attributes: str = "") -> str:
    """The tag that opens a block."""
    return f"<{DSML}{tag}{attributes}>"


def closing(tag: str) -> str:
    """The tag that closes a block."""
    return f"</{DSML}{tag}>"


def tool_calls_text(tags: Tags, message: Message) -> str:
    """The block of an assistant message's calls with two newlines before it, "" where it calls nothing."""
    invokes = [_invoke(tags, call) for call in tool_calls(message)]
    if not invokes:
        return ""
    return "\n".join(["\n", opening(tags.calls), *invokes, closing(tags.calls)])


def _invoke(tags: Tags, call: JsonObject) -> str:
    function = _function(call)
    arguments = function["arguments"]
    if not isinstance(arguments, Mapping):
        raise TypeError
    # Without arguments the line between the tags is there, and empty.
    parameters = "\n".join(_parameter(tags, name, value) for name, value in arguments.items())
    head = opening(tags.invoke, f' name="{function["name"]}"')
    return f"{head}\n{parameters}\n{closing(tags.invoke)}"


def _parameter(tags: Tags, name: str, value: JsonValue) -> str:
    is_text = isinstance(value, str)
    head = opening(tags.parameter, f' name="{name}" string="{"true" if is_text else "false"}"')
    return f"{head}{value if is_text else to_json(value)}{closing(tags.parameter)}"


def tool_calls(message: Message) -> list[JsonObject]:
    """The calls of a message."""
    calls = message.get("tool_calls")
    if not calls or isinstance(calls, str) or not isinstance(calls, Sequence):
        return []
    return [call for call in calls if isinstance(call, Mapping)]


def _function(call: JsonObject) -> JsonObject:
    function = call.get("function", call)
    if not isinstance(function, Mapping):
        raise TypeError
    return function


def schema_lines(tools: Sequence[Tool]) -> str:
    """The function objects of tools as JSON, one a line, keys in the client's order."""
    return "\n".join(to_json(tool["function"]) for tool in tools)


def text_of(message: Message, name: str = "content") -> str:
    """A member that is text, "" where it is missing; raises ``TypeError`` for anything else."""
    value = message.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError
    return value


def with_tools_host(messages: Sequence[Message], tools: Sequence[Tool]) -> list[Message]:
    """The messages with a system message in front that can carry the tools, where there are any."""
    if not tools or (messages and messages[0]["role"] == "system"):
        return list(messages)
    return [{"role": "system", "content": ""}, *messages]


def introduction(tags: Tags, tools: Sequence[Tool]) -> str:
    """The text that introduces tools to DeepSeek V4 and V4.1."""
    calls = opening(tags.calls)
    example = "\n".join(
        (
            calls,
            opening(tags.invoke, ' name="$TOOL_NAME"'),
            opening(tags.parameter, ' name="$PARAMETER_NAME" string="true|false"')
            + "$PARAMETER_VALUE"
            + closing(tags.parameter),
            "...",
            closing(tags.invoke),
            opening(tags.invoke, ' name="$TOOL_NAME2"'),
            "...",
            closing(tags.invoke),
            closing(tags.calls),
        )
    )
    paragraphs = (
        "## Tools",
        "You have access to a set of tools to help answer the user's question. You can invoke tools by "
        f'writing a "{calls}" block like the following:',
        example,
        'String parameters should be specified as is and set `string="true"`. For all other types (numbers, '
        'booleans, arrays, objects), pass the value in JSON format and set `string="false"`.',
        f"If thinking_mode is enabled (triggered by {THINK}), you MUST output your complete reasoning inside "
        f"{THINK}...{END_THINK} BEFORE any tool calls or final response.",
        f"Otherwise, output directly after {END_THINK} with tool calls or final response.",
        "### Available Tool Schemas",
        schema_lines(tools),
        "You MUST strictly follow the above defined tool name and parameter schemas to invoke tool calls.\n",
    )
    return "\n\n".join(paragraphs)


__all__ = [
    "ASSISTANT",
    "BOS",
    "DSML",
    "END_THINK",
    "EOS",
    "SYSTEM",
    "THINK",
    "USER",
    "V4_TAGS",
    "V32_TAGS",
    "V41_TAGS",
    "Tags",
    "closing",
    "introduction",
    "opening",
    "schema_lines",
    "text_of",
    "tool_calls",
    "tool_calls_text",
    "with_tools_host",
]
