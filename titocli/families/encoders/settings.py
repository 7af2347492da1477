"""What the kwargs of a DeepSeek encoder mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from titocli.jsonvalue import JsonValue, Message

#: The kwargs that every DeepSeek encoder reads.
COMMON_KWARGS = frozenset({"thinking", "drop_thinking", "add_default_bos_token", "context"})


class EncodingFault(Exception):
    """What an encoder refuses, with the index of the message at fault; never shown to a user as it is."""

    def __init__(self, what: str, message_index: int | None = None) -> None:
        super().__init__(what)
        self.message_index = message_index


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """An encoder's kwargs, read; the defaults are those of DeepSeek's own encoders, but for thinking.

    ``context`` are messages before the encoded ones: they are not printed, but nothing that opens a
    conversation is printed either, and tool results are read by their calls.
    """

    thinking: bool = True
    drop_thinking: bool = True
    add_default_bos_token: bool = True
    context: tuple[Message, ...] = ()
    reasoning_effort: JsonValue = None
    reasoning_effort_profile: JsonValue = "preview"

    @classmethod
    def of(cls, kwargs: Mapping[str, JsonValue]) -> Settings:
        """The settings of these kwargs, null as absent; raises ``EncodingFault``."""
        return cls(
            thinking=_switch(kwargs, "thinking"),
            drop_thinking=_switch(kwargs, "drop_thinking"),
            add_default_bos_token=_switch(kwargs, "add_default_bos_token"),
            context=_context(kwargs.get("context")),
            reasoning_effort=kwargs.get("reasoning_effort"),
            reasoning_effort_profile=kwargs.get("reasoning_effort_profile") or "preview",
        )

    @property
    def opens_conversation(self) -> bool:
        """Whether the first encoded message is the first of the conversation."""
        return not self.context


def _switch(kwargs: Mapping[str, JsonValue], name: str) -> bool:
    value = kwargs.get(name)
    if value is None:
        return True
    if not isinstance(value, bool):
        raise EncodingFault(f"{name} is neither true nor false")
    return value


def _context(value: JsonValue) -> tuple[Message, ...]:
    if value is None:
        return ()
    listed = [] if isinstance(value, str | Mapping) or not isinstance(value, Sequence) else list(value)
    messages = tuple(message for message in listed if isinstance(message, Mapping))
    if len(messages) != len(listed) or (not listed and value != []):
        raise EncodingFault("context is not a list of messages")
    return messages


__all__ = ["COMMON_KWARGS", "EncodingFault", "Settings"]
