"""The types of what JSON holds, shared by every layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
JsonObject: TypeAlias = Mapping[str, JsonValue]

#: One chat message in OpenAI's shape: ``role``, ``content``, ``reasoning_content``, ``tool_calls``, ...
Message: TypeAlias = JsonObject
#: One tool in OpenAI's shape: ``{"type": "function", "function": {...}}``.
Tool: TypeAlias = JsonObject

__all__ = ["JsonObject", "JsonValue", "Message", "Tool"]
