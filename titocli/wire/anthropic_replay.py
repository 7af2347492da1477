"""What an Anthropic client replays, read against what the session stored.

On this wire a reply loses its spelling: tool input goes through an object, a text of nothing but whitespace
is no block, ids must be of an alphabet.  A replayed assistant message that is what a client has of a stored
one, at the same place of the conversation, is the stored one; so a strict matcher finds it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from titocli.families.client_json import spelled
from titocli.families.json_text import to_json
from titocli.jsonvalue import JsonObject, JsonValue, Message
from titocli.session.tree import Turn
from titocli.wire.anthropic_calls import calls_of, function_of, same_input, wire_id


def as_stored(messages: Sequence[Message], turns: Iterable[Turn]) -> list[Message]:
    """``messages`` with those of the assistant in their stored form; ``turns`` are in commit order.

    The latest of equals is taken.  What was never stored has its tool input as JSON text, which is the
    stored form from then on.
    """
    stored = _Stored(turns)
    return [stored.form_of(index, message) for index, message in enumerate(messages)]


class _Stored:
    """The assistant messages of all turns by their place, and the ids that had to be made for the wire."""

    def __init__(self, turns: Iterable[Turn]) -> None:
        self._at: defaultdict[int, list[Message]] = defaultdict(list)
        self._ids: dict[str, JsonValue] = {}
        for turn in turns:
            first = turn.message_count - len(turn.messages)
            for index, message in enumerate(turn.messages, start=first):
                if message.get("role") == "assistant":
                    self._at[index].append(message)
                    self._ids.update((_id(call), call.get("id")) for call in calls_of(message))

    def form_of(self, index: int, message: Message) -> Message:
        if message.get("role") == "tool":
            asked = message.get("tool_call_id")
            return {**message, "tool_call_id": self._ids.get(str(asked), asked)}
        if message.get("role") != "assistant":
            return message
        same = (stored for stored in reversed(self._at[index]) if _is_replay(stored, message))
        return next(same, None) or self._foreign(message)

    def _foreign(self, message: Message) -> Message:
        calls = calls_of(message)
        return {**message, "tool_calls": [self._text_call(call) for call in calls]} if calls else message

    def _text_call(self, call: JsonObject) -> JsonObject:
        function = function_of(call)
        text = to_json(spelled(function.get("arguments")))
        return {
            **call,
            "id": self._ids.get(str(call.get("id")), call.get("id")),
            "function": {**function, "arguments": text},
        }


def _id(call: JsonObject) -> str:
    return wire_id(str(call.get("id")))


def _is_replay(stored: Message, replayed: Message) -> bool:
    return (
        _same_text(stored.get("content"), replayed.get("content"))
        and _squeezed(stored.get("reasoning_content")) == _squeezed(replayed.get("reasoning_content"))
        and _same_calls(calls_of(stored), calls_of(replayed))
    )


def _same_text(stored: JsonValue, replayed: JsonValue) -> bool:
    """Equal, or nothing against whitespace alone, which is no block."""
    if stored == replayed:
        return True
    return not replayed and (not stored or (isinstance(stored, str) and not stored.strip()))


def _squeezed(reasoning: JsonValue) -> str:
    """Reasoning without line ends: that of several blocks is joined by one, however it was told."""
    return str(reasoning or "").replace("\n", "")


def _same_calls(stored: Sequence[JsonObject], replayed: Sequence[JsonObject]) -> bool:
    return len(stored) == len(replayed) and all(map(_same_call, stored, replayed))


def _same_call(stored: JsonObject, replayed: JsonObject) -> bool:
    own, other = function_of(stored), function_of(replayed)
    return (
        _id(stored) == replayed.get("id")
        and own.get("name") == other.get("name")
        and same_input(own.get("arguments"), other.get("arguments"))
    )


__all__ = ["as_stored"]
