"""Tool results and the calls that they answer, in what a client appends.

A result's call is one of the nearest assistant message before it.  Where that message has no calls, a result
is accepted: agents answer a call that could not be parsed.  What this session generated is never judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from titocli.errors import InvalidMessages, UnsupportedRequest
from titocli.jsonvalue import JsonValue, Message


def refuse_stray_results(history: Sequence[Message], appended: Sequence[Message], *, first: int) -> None:
    """Raise ``InvalidMessages`` for a result without its call, a second result, an id that two calls share.

    ``history`` ends with the assistant message before ``appended`` (empty: there is none); ``first`` is the
    index of the first appended message.
    """
    calls = _call_ids(history[-1]) if history else None
    answered: set[str] = set()
    for index, message in enumerate(appended, start=first):
        if message["role"] == "assistant":
            calls, answered = _call_ids(message), set()
            _refuse_shared_ids(index, calls)
        elif message["role"] == "tool":
            _refuse_stray(index, message.get("tool_call_id"), calls, answered)


def refuse_open_assistant(appended: Sequence[Message], *, first: int) -> None:
    """Raise ``UnsupportedRequest`` for new messages that end with an assistant's: no turn is prefilled."""
    if appended and appended[-1]["role"] == "assistant":
        last = first + len(appended) - 1
        raise UnsupportedRequest(
            f"message {last}, the last one, is an assistant message that this session did not generate",
            hint="a generation starts a turn of its own: append a user or tool message",
            details={"param": "messages", "message_index": last},
        )


def _refuse_stray(index: int, call: JsonValue, calls: Sequence[str] | None, answered: set[str]) -> None:
    if call is None:
        return
    if not isinstance(call, str):
        raise InvalidMessages(
            f"message {index} has a tool_call_id that is no string",
            hint="it is the id of the call that the message answers",
            details={"message_index": index},
        )
    if calls is None or (calls and call not in calls):
        raise _invalid(index, f"is the result of {call[:80]!r}, which the assistant did not call", call)
    if call in answered and call in calls:
        raise _invalid(index, f"is a second result of {call[:80]!r}", call)
    answered.add(call)


def _refuse_shared_ids(index: int, calls: Sequence[str]) -> None:
    shared = next((call for call in calls if calls.count(call) > 1), None)
    if shared is not None:
        raise _invalid(index, f"has two tool calls with the id {shared[:80]!r}", shared)


def _call_ids(message: Message) -> list[str]:
    calls = message.get("tool_calls")
    if not isinstance(calls, Sequence) or isinstance(calls, str):
        return []
    ids = [call.get("id") for call in calls if isinstance(call, Mapping)]
    return [call for call in ids if isinstance(call, str)]


def _invalid(index: int, what: str, call: str) -> InvalidMessages:
    return InvalidMessages(
        f"message {index} {what}",
        hint="keep each call before its one result",
        details={"message_index": index, "tool_call_id": call[:80]},
    )


__all__ = ["refuse_open_assistant", "refuse_stray_results"]
