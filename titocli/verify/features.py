"""What generated conversations contain, so that a test can show that each feature really occurs."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

from titocli.jsonvalue import JsonObject, JsonValue, Message
from titocli.verify.conversations import Conversation
from titocli.verify.text_samples import WRAPPED_RESULTS


def coverage(conversations: Iterable[Conversation]) -> Mapping[str, int]:
    """In how many conversations each feature occurs; kwargs appear as ``kwarg name=value``."""
    counts: Counter[str] = Counter()
    for conversation in conversations:
        counts.update(set(_features(conversation)))
    return MappingProxyType(dict(counts))


def _features(conversation: Conversation) -> Iterator[str]:
    yield from _of_tools(conversation.tools)
    for name, value in conversation.kwargs.items():
        yield f"kwarg {name}={value}"
    yield from _of_order([str(message["role"]) for message in conversation.messages])
    if _has_swapped_results(conversation.messages):
        yield "results out of order"
    for message in conversation.messages:
        yield from _of_content(message)
        if message["role"] == "assistant":
            yield from _of_assistant(message)


def _of_tools(tools: Sequence[JsonObject] | None) -> Iterator[str]:
    if tools is None:
        yield "tools none"
    else:
        yield "tools some" if tools else "tools empty"


def _of_order(roles: Sequence[str]) -> Iterator[str]:
    yield "system first" if roles[0] == "system" else "system absent"
    if "system" in roles[1:]:
        yield "system later"
    if "user" not in roles:
        yield "no user"
    for before, after in pairwise(roles):
        yield f"{after} after {before}"


def _has_swapped_results(messages: Sequence[Message]) -> bool:
    answered = [str(message.get("tool_call_id", "")) for message in messages]
    return any(after and after < before for before, after in pairwise(answered))


def _of_content(message: Message) -> Iterator[str]:
    content = message["content"]
    if not isinstance(content, str):
        yield from (f"part {part['type']}" for part in _objects(content))
    elif content in WRAPPED_RESULTS:
        yield "wrapped tool result from user"
    elif "</think>" in content:
        yield "thinking inside content"
    else:
        yield f"content {_text_kind(content)}"
        yield from (f"text {name}" for name, holds in _TEXT_TRAITS.items() if holds(content))


def _of_assistant(message: Message) -> Iterator[str]:
    reasoning = message.get("reasoning_content", "absent")
    if "reasoning_content" not in message or reasoning is None:
        yield "reasoning absent" if reasoning else "reasoning null"
    else:
        yield f"reasoning {_text_kind(str(reasoning))}"
        if str(reasoning).strip() and str(reasoning) != str(reasoning).strip():
            yield "reasoning padded"
    calls = _objects(message.get("tool_calls"))
    yield f"tool calls {len(calls)}"
    for call in calls:
        yield from _of_arguments(_objects([call["function"]])[0]["arguments"])


def _of_arguments(arguments: JsonValue) -> Iterator[str]:
    if isinstance(arguments, str):
        yield "arguments JSON text" if arguments.endswith("}") else "arguments broken text"
        return
    values = list(arguments.values()) if isinstance(arguments, Mapping) else []
    yield "arguments object" if values else "arguments empty"
    for value in values:
        yield f"argument {type(value).__name__}"


def _objects(values: JsonValue) -> list[JsonObject]:
    if isinstance(values, str) or not isinstance(values, Sequence):
        return []
    return [value for value in values if isinstance(value, Mapping)]


def _text_kind(text: str) -> str:
    if not text:
        return "empty"
    return "text" if text.strip() else "whitespace"


_TEXT_TRAITS: Mapping[str, Callable[[str], bool]] = {
    "cjk": lambda text: "天" in text,
    "emoji": lambda text: "🙂" in text,
    "combining": lambda text: any(map(unicodedata.combining, text)),
    "right-to-left": lambda text: any(unicodedata.bidirectional(char) in {"R", "AL"} for char in text),
    "line separator": lambda text: "\u2028" in text,
    "no-break space": lambda text: "\u00a0" in text,
    "tab": lambda text: "\t" in text,
    "carriage return": lambda text: "\r" in text,
    "markup": lambda text: "[/INST]" in text,
    "html": lambda text: "<" in text and "&" in text,
    "jinja": lambda text: "{{" in text,
    "newlines around": lambda text: bool(text.strip()) and text.strip("\n") != text,
}


__all__ = ["coverage"]
