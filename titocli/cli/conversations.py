"""Conversations as users have them in files: messages, request bodies, one or one a line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from titocli.errors import InputError, InvalidJson, InvalidMessages, UnreadableFile
from titocli.families.client_json import read_json
from titocli.families.effort import Effort
from titocli.families.messages import message_list, normalise_tools
from titocli.families.template_source import read_text
from titocli.jsonvalue import JsonObject, JsonValue, Message, Tool
from titocli.wire.anthropic_conversation import is_anthropic, openai_messages, openai_tools

STDIN = "-"
_SHAPES = 'expected a list of messages, or an object with "messages" (an OpenAI or Anthropic request body)'

_TOOL_SHAPE = 'a tool is {"type": "function", "function": {"name": ..., "parameters": {...}}}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One conversation as a client would send it, not normalised; ``place`` names it in messages."""

    place: str
    messages: Sequence[Message]
    tools: Sequence[Tool] = ()
    kwargs: Mapping[str, JsonValue] = field(default_factory=dict)
    reasoning_effort: Effort = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationFile:
    """What a file holds; ``one_a_line`` for JSONL, whatever the number of its lines."""

    conversations: tuple[Conversation, ...]
    one_a_line: bool = False


def read_conversations(where: str) -> ConversationFile:
    """The conversations of a file, or of standard input for ``-``.

    Raises ``UnreadableFile``, ``InvalidJson``, ``InvalidMessages``, ``InvalidTools``.
    """
    name = "standard input" if where == STDIN else where
    text = _stdin_text() if where == STDIN else read_text(Path(where))
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise UnreadableFile(f"{name} is empty", hint=_SHAPES)
    if where.endswith(".jsonl") or _has_json_lines(text):
        return ConversationFile(conversations=_lines(name, text), one_a_line=True)
    return ConversationFile(conversations=(conversation(name, _parse_json(name, text)),))


def read_tools(path: Path) -> list[Tool]:
    """The tools of a file: a list, or an object with ``tools``; OpenAI's or Anthropic's shape."""
    value = _parse_json(str(path), read_text(path).removeprefix("\ufeff"))
    with named_place(str(path)):
        return normalise_tools(openai_tools(_member(value, "tools")))


def _stdin_text() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise UnreadableFile(
            f"standard input is not UTF-8 text (byte {error.start})", hint="convert it to UTF-8"
        ) from error


def _has_json_lines(text: str) -> bool:
    """Whether the text is no JSON document but its first line is one."""
    lines = text.strip().split("\n", 1)
    return len(lines) > 1 and _parses(lines[0]) and not _parses(text)


def _parses(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _lines(name: str, text: str) -> tuple[Conversation, ...]:
    numbered = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    return tuple(
        conversation(f"{name}:{number}", _parse_json(name, line, first_line=number))
        for number, line in numbered
    )


def _parse_json(name: str, text: str, *, first_line: int = 1) -> JsonValue:
    """The value of JSON text; raises ``InvalidJson`` with file, line and column."""
    try:
        return read_json(text)
    except json.JSONDecodeError as error:
        line = first_line + error.lineno - 1
        raise InvalidJson(
            f"{name}:{line}:{error.colno}: not JSON: {error.msg}",
            hint=_SHAPES,
            details={"file": name, "line": line, "column": error.colno},
        ) from error
    except (ValueError, RecursionError) as error:
        raise InvalidJson(
            f"{name}:{first_line}: JSON with NaN or Infinity, or nested too deeply",
            hint=_SHAPES,
            details={"file": name, "line": first_line},
        ) from error


def conversation(place: str, value: JsonValue) -> Conversation:
    """The conversation that a JSON value is: a list of messages, an object with some, a request body."""
    with named_place(place):
        return _conversation(place, value)


def _conversation(place: str, value: JsonValue) -> Conversation:
    if not isinstance(value, Mapping):
        return Conversation(place=place, messages=message_list(value))
    if "messages" not in value:
        raise InvalidMessages(f'the object has no "messages"{_lone_message(value)}', hint=_SHAPES)
    messages = openai_messages(value) if is_anthropic(value) else value["messages"]
    return Conversation(
        place=place,
        messages=message_list(messages),
        tools=normalise_tools(openai_tools(value.get("tools"))),
        kwargs=_template_kwargs(value),
        reasoning_effort=_reasoning_effort(value),
    )


def _lone_message(value: JsonObject) -> str:
    return ": it is one message" if "role" in value else ""


def _template_kwargs(body: JsonObject) -> Mapping[str, JsonValue]:
    kwargs = body.get("chat_template_kwargs")
    if kwargs is None:
        return {}
    if not isinstance(kwargs, Mapping):
        raise InvalidMessages(
            "chat_template_kwargs must be an object", hint='for example {"enable_thinking": false}'
        )
    return kwargs


def _reasoning_effort(body: JsonObject) -> Effort:
    effort = body.get("reasoning_effort")
    if effort is None:
        effort = _member(body.get("reasoning"), "effort")
    return effort if isinstance(effort, str | int | float) else None


def _member(value: JsonValue, key: str) -> JsonValue:
    return value.get(key) if isinstance(value, Mapping) else value


@contextmanager
def named_place(place: str) -> Iterator[None]:
    """Puts the place in front of what an input error says."""
    try:
        yield
    except InputError as error:
        details = {**error.details, "place": place}
        hint = error.hint or _TOOL_SHAPE
        raise type(error)(f"{place}: {error.message}", hint=hint, details=details) from error


__all__ = [
    "STDIN",
    "Conversation",
    "ConversationFile",
    "conversation",
    "named_place",
    "read_conversations",
    "read_tools",
]
