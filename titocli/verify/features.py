"""What generated conversations contain, so that a test can show that each feature really occurs."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Protocol

from titocli.families.family import Family, Role
from titocli.jsonvalue import JsonObject, JsonValue, Message, Tool
from titocli.verify.text_samples import WRAPPED_RESULTS


class Asked(Protocol):
    """What a client asks: a generated conversation, or a case."""

    @property
    def messages(self) -> Sequence[Message]:
        """The messages."""
        ...

    @property
    def tools(self) -> Sequence[Tool] | None:
        """The tools, None where the request has none."""
        ...

    @property
    def kwargs(self) -> Mapping[str, JsonValue]:
        """The template kwargs."""
        ...


def coverage(conversations: Iterable[Asked]) -> Mapping[str, int]:
    """In how many conversations each feature occurs; kwargs appear as ``kwarg name=value``."""
    counts: Counter[str] = Counter()
    for conversation in conversations:
        counts.update(set(_features(conversation)))
    return MappingProxyType(dict(counts))


def _features(conversation: Asked) -> Iterator[str]:
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
    content = message.get("content")
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
        function = call.get("function", call)
        yield from _of_arguments(function.get("arguments") if isinstance(function, Mapping) else None)


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


def expected(family: Family) -> frozenset[str]:
    """The features that conversations for a family should have; any of them that never occurs is a gap."""
    kwargs = {**family.pinned_kwargs, **family.turn_kwargs}
    values = {f"kwarg {name}={value}" for name, known in kwargs.items() for value in known}
    parts = {f"part {name}" for name in family.content_parts if name in _GENERATED_PARTS}
    late = {"system later", "system after assistant"} if Role.SYSTEM in family.append_roles else set()
    return _EVERYWHERE | values | parts | late


#: Parts that the generator knows.
_GENERATED_PARTS = frozenset({"text", "image", "image_url", "video", "video_url", "audio", "input_audio"})
_ORDER = {
    f"{after} after {before}"
    for after, before in (
        ("user", "user"),
        ("user", "assistant"),
        ("user", "system"),
        ("user", "tool"),
        ("assistant", "user"),
        ("assistant", "tool"),
        ("assistant", "assistant"),
        ("tool", "assistant"),
        ("tool", "tool"),
    )
}
_SHAPES = {
    *("system first", "system absent", "no user"),
    *("tools none", "tools empty", "tools some", *(f"tool calls {count}" for count in range(4))),
    *("arguments object", "arguments empty", "arguments JSON text"),
    *(f"argument {kind}" for kind in ("str", "int", "float", "bool", "NoneType", "list", "dict")),
    *(f"reasoning {kind}" for kind in ("absent", "null", "empty", "whitespace", "text", "padded")),
    *(f"content {kind}" for kind in ("empty", "whitespace", "text")),
    *("thinking inside content", "wrapped tool result from user"),
}
_EVERYWHERE = frozenset(_ORDER | _SHAPES | {f"text {name}" for name in _TEXT_TRAITS})


__all__ = ["Asked", "coverage", "expected"]
