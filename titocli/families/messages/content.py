"""Content: a string, or parts that a family's template can print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from titocli.families.family import Family
from titocli.families.messages.refusal import invalid, json_type
from titocli.jsonvalue import JsonValue


def content_of(family: Family, index: int, content: JsonValue) -> JsonValue:
    """The text of ``content``, or its parts where some are no text; raises ``InvalidMessages``."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        raise invalid(index, f"has content of type {json_type(content)}")
    kinds = {_part_kind(index, part) for part in content}
    unknown = kinds - set(family.content_parts)
    if unknown:
        raise invalid(index, f"has a content part {min(unknown)!r} that family {family.name!r} cannot render")
    return content if kinds - {"text"} else "".join(_part_text(index, part) for part in content)


def text_of(index: int, value: JsonValue, *, name: str) -> str:
    """A member that is text alone: a string, or a list of text parts; raises ``InvalidMessages``."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Sequence):
        raise invalid(index, f"has {name} of type {json_type(value)}")
    return "".join(_part_text(index, part) for part in value)


def _part_kind(index: int, part: JsonValue) -> str:
    if not isinstance(part, Mapping):
        raise invalid(index, f"has a content part of type {json_type(part)}")
    kind = part.get("type", "text" if "text" in part else None)
    if not isinstance(kind, str):
        raise invalid(index, "has a content part without a type")
    return kind


def _part_text(index: int, part: JsonValue) -> str:
    text = part.get("text") if isinstance(part, Mapping) else None
    if not isinstance(text, str):
        raise invalid(index, "has a text part without text")
    return text


__all__ = ["content_of", "text_of"]
