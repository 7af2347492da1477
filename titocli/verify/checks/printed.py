"""thinking-retention and tool-shapes: everything that a conversation says is in its prompt, in order."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from titocli.errors import InputError
from titocli.families.family import Family, Role, ToolCallGrammar
from titocli.families.spans import shared_length
from titocli.families.thinking import THINKING_NAMES
from titocli.jsonvalue import JsonObject, JsonValue, Message
from titocli.verify.checks.finding import Check, Finding, differing
from titocli.verify.contract import Contract
from titocli.verify.events import Case, CheckId, FailureKind
from titocli.verify.states import Shown, States

#: Grammars whose templates may print arguments in the order of their names.
_MAY_SORT = (None, ToolCallGrammar.INKLING_BLOCKS)
#: What an empty result is tried with.
_WORD = "x"
#: Text that no template has a reason to spell otherwise.
_PLAIN = re.compile(r"[A-Za-z][\w .,:?'-]*")


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of text that must be in the render, and what it is."""

    text: str
    what: str
    kind: FailureKind


def _lost_thinking(states: States) -> Finding | None:
    if any(states.kwargs.get(name) is False for name in THINKING_NAMES):
        return None
    place = 0
    whole = states.text(len(states.roles))
    for end, message in enumerate(states.messages, 1):
        thought = _stripped(message.get("reasoning_content"))
        found = whole.find(thought, place)
        if found < 0:
            return _thinking(states, end, thought, place)
        place = found + len(thought)
    return None


def _thinking(states: States, end: int, thought: str, place: int) -> Finding:
    sentence = f"the reasoning of message {end - 1} is not in the prompt"
    total = len(states.roles)
    if end < total and thought in states.text(end):
        return differing(
            states,
            FailureKind.THINKING_LOST,
            f"{sentence} after {total - end} more",
            expected=Shown(end),
            actual=Shown(total),
            turn_end=end,
            state_end=total,
        )
    return _missing(states, total, place, _Part(thought, sentence, FailureKind.THINKING_LOST))


def _stripped(value: JsonValue) -> str:
    return value.strip() if isinstance(value, str) else ""


_PROBE = Case(
    name="probe",
    messages=(
        {"role": "user", "content": "Question: which way?"},
        {"role": "assistant", "content": "Answer: left.", "reasoning_content": "Thought: left or right?"},
    ),
)


def _prints_no_reasoning(contract: Contract) -> str | None:
    if contract.family.parsers.reasoning is not None:
        return None
    try:
        text = States(contract, _PROBE).text(len(_PROBE.messages))
    except InputError:
        return None
    return None if "Thought: left" in text else "the template prints no reasoning"


def _lost_parts(states: States) -> Finding | None:
    return _lost_tools(states) or _lost_messages(states) or _lost_result(states) or _differing_shape(states)


def _lost_tools(states: States) -> Finding | None:
    """Tools in the order in which they are given; what belongs to one, in any order."""
    total, place = len(states.roles), 0
    text = states.text(total) if states.tools else ""
    for tool in states.tools:
        function = tool["function"]
        if not isinstance(function, Mapping):
            continue
        name = str(function["name"])
        found = text.find(name, place)
        missing = [name] if found < 0 else [one for one in _words_of(function) if one not in text]
        if missing:
            what = "a tool, or its place among the tools, is lost: its name, description or a parameter"
            return _missing(states, total, place, _Part(missing[0], what, FailureKind.TOOL_LOST))
        place = found + len(name)
    return None


def _words_of(function: JsonObject) -> Iterator[str]:
    """Descriptions and parameter names, where they are plain."""
    parameters = function.get("parameters")
    properties = parameters.get("properties") if isinstance(parameters, Mapping) else None
    named = properties if isinstance(properties, Mapping) else {}
    described = [schema.get("description") for schema in named.values() if isinstance(schema, Mapping)]
    for text in (function.get("description"), *named, *described):
        if isinstance(text, str) and _PLAIN.fullmatch(text):
            yield text


def _lost_messages(states: States) -> Finding | None:
    total, place = len(states.roles), 0
    text = states.text(total)
    names: dict[JsonValue, str] = {}
    for run in _runs(states.messages):
        ends = [place]
        for part in (part for message in run for part in _parts(states.contract.family, message, names)):
            # A run of results may be printed in the order of its calls.
            found = text.find(part.text, place if len(run) > 1 else ends[-1])
            if found < 0:
                return _missing(states, total, ends[-1], part)
            ends.append(found + len(part.text))
        place = max(ends)
        names = _named_calls(run[-1]) or names
    return None


def _named_calls(message: Message) -> dict[JsonValue, str]:
    """The names of the functions that a message calls, by the calls' ids."""
    calls = ((call.get("id"), call.get("function", call)) for call in _calls(message))
    return {call_id: str(one["name"]) for call_id, one in calls if isinstance(one, Mapping)}


def _lost_result(states: States) -> Finding | None:
    """A result without text that is printed otherwise than one with text, as if it had never come."""
    for end, message in enumerate(states.messages, 1):
        if message["role"] == Role.TOOL and message.get("content") == "" and not _is_generated(states):
            spoken = _with_text(states, end - 1).text(end)
            actual = states.text(end)
            at = shared_length(spoken, actual)
            if spoken != f"{actual[:at]}{_WORD}{actual[at:]}":
                what = f"the empty result at message {end - 1} is printed otherwise than one with text"
                return _missing(states, end, at, _Part(spoken[at:], what, FailureKind.TOOL_LOST))
    return None


def _with_text(states: States, index: int) -> States:
    messages = list(states.case.messages)
    messages[index] = {**messages[index], "content": _WORD}
    return States(states.contract, replace(states.case, messages=tuple(messages)))


def _is_generated(states: States) -> bool:
    return states.case.name.startswith("generated")


def _runs(messages: Sequence[Message]) -> Iterator[list[Message]]:
    run: list[Message] = []
    for message in messages:
        if run and not run[-1]["role"] == message["role"] == Role.TOOL:
            yield run
            run = []
        run.append(message)
    yield run


def _parts(family: Family, message: Message, names: Mapping[JsonValue, str]) -> Iterator[_Part]:
    if message["role"] == Role.TOOL and (label := _label(family, message, names)):
        yield _Part(label, "a tool result does not say which call it answers", FailureKind.TOOL_LOST)
    content = _stripped(message.get("content"))
    if content and "think>" not in content:
        yield _Part(content, f"the content of a {message['role']} message is lost", FailureKind.CONTENT_LOST)
    prints_ids = family.parsers.tool_call is ToolCallGrammar.KIMI_SECTIONS
    for call in _calls(message):
        function = call.get("function", call)
        if isinstance(function, Mapping):
            named = call["id"] if prints_ids else function["name"]
            for text in (str(named), *_plain_arguments(family, function.get("arguments"))):
                yield _Part(text, "the name or an argument of a tool call is lost", FailureKind.TOOL_LOST)


def _label(family: Family, message: Message, names: Mapping[JsonValue, str]) -> str:
    """What the family prints before a result: the id of its call, or the name of its tool."""
    answered = message.get("tool_call_id")
    if family.parsers.tool_call is ToolCallGrammar.KIMI_SECTIONS:
        return str(answered or "")
    if family.parsers.tool_call is ToolCallGrammar.INKLING_BLOCKS:
        return str(message.get("name") or names.get(answered, ""))
    return ""


def _calls(message: Message) -> list[JsonObject]:
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, Sequence) else []


def _plain_arguments(family: Family, arguments: JsonValue) -> list[str]:
    """Keys and plain values, where it is known in which order they are printed."""
    if not isinstance(arguments, Mapping):
        return []
    if family.parsers.tool_call in _MAY_SORT and list(arguments) != sorted(arguments):
        return []
    words = [word for pair in arguments.items() for word in pair if isinstance(word, str)]
    return [word for word in words if _PLAIN.fullmatch(word)]


def _differing_shape(states: States) -> Finding | None:
    """Schedules alone: they say the same in every shape."""
    if _is_generated(states):
        return None
    other = States(states.contract, replace(states.case, messages=_reshaped(states.case.messages)))
    total = len(states.roles)
    expected, actual = states.text(total), other.text(total)
    if expected == actual:
        return None
    return Finding(
        kind=FailureKind.SHAPES_DIFFER,
        sentence="text parts and arguments as JSON text render otherwise than strings and objects",
        expected=expected,
        actual=actual,
        at=shared_length(expected, actual),
        expected_from=Shown(total),
    )


def _reshaped(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Content in text parts, arguments as JSON text, no content beside calls."""
    return tuple(_reshaped_message(message) for message in messages)


def _reshaped_message(message: Message) -> Message:
    shaped = dict(message)
    content = shaped.pop("content", None)
    if isinstance(content, str) and content:
        shaped["content"] = [{"type": "text", "text": content}]
    elif not message.get("tool_calls"):
        shaped["content"] = content
    if message.get("tool_calls"):
        shaped["tool_calls"] = [_reshaped_call(call) for call in _calls(message)]
    return shaped


def _reshaped_call(call: JsonObject) -> JsonObject:
    function = call.get("function")
    if not isinstance(function, Mapping) or isinstance(function.get("arguments"), str):
        return call
    return {**call, "function": {**function, "arguments": json.dumps(function.get("arguments"))}}


def _missing(states: States, end: int, place: int, part: _Part) -> Finding:
    """A text without a part that should come at or after ``place``."""
    actual = states.text(end)
    expected = actual[:place] + part.text
    return Finding(
        kind=part.kind,
        sentence=part.what,
        expected=expected,
        actual=actual,
        at=shared_length(expected, actual),
        actual_from=Shown(end),
    )


THINKING_RETENTION = Check(id=CheckId.THINKING_RETENTION, find=_lost_thinking, why_not=_prints_no_reasoning)
TOOL_SHAPES = Check(id=CheckId.TOOL_SHAPES, find=_lost_parts)

__all__ = ["THINKING_RETENTION", "TOOL_SHAPES"]
