"""What the suffix of appended messages is rendered against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from titocli.errors import InvalidMessages
from titocli.families.family import Family, SuffixBase
from titocli.families.messages import normalise_appended, normalise_messages
from titocli.jsonvalue import JsonObject, JsonValue, Message


def suffix_base(family: Family, history: Sequence[Message]) -> list[Message]:
    """The messages that stand for ``history``, a stored conversation as it came.

    Made-up ones, with the last message's tool calls and every picture and video, or the conversation itself
    for a family whose template looks further back.
    """
    if family.suffix_base is SuffixBase.REAL_HISTORY:
        return normalise_messages(family, history)
    # One space of reasoning: enough for every template to print its think block.
    assistant = {"role": "assistant", "content": "", "reasoning_content": " "}
    calls = _readable_calls(family, history[-1:])
    media = _media_parts(history)
    pictures: list[Message] = [{"role": "user", "content": media}] if media else []
    closing: Message = {**assistant, "tool_calls": calls} if calls else assistant
    return [{"role": "system", "content": "synthetic"}, *pictures, closing]


def _readable_calls(family: Family, last: Sequence[Message]) -> JsonValue:
    try:
        return normalise_appended(family, last, first=0)[0].get("tool_calls") if last else None
    except InvalidMessages:
        # The model wrote arguments that are no JSON; no template reads them from here.
        return None


def _media_parts(history: Sequence[Message]) -> list[JsonObject]:
    lists = (message.get("content") for message in history)
    parts = (part for content in lists if isinstance(content, list | tuple) for part in content)
    return [part for part in parts if isinstance(part, Mapping) and part.get("type", "text") != "text"]


__all__ = ["suffix_base"]
