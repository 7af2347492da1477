"""Runs of tool results, for families whose template puts a run in the order of the calls.

There a later result can move an earlier one that is already in the prefix, so a run is appended whole: one
result for every call of the assistant message before it.  The encoders of DeepSeek's checkpoints close the
block of calls with their results: there calls cannot stay without any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile

from titocli.errors import InvalidMessages
from titocli.families.family import Family, ToolRuns
from titocli.jsonvalue import JsonValue, Message


def refuse_incomplete_run(family: Family, history: Sequence[Message], appended: Sequence[Message]) -> None:
    """Raise ``InvalidMessages`` for appended messages that do not answer every call before them."""
    if family.tool_runs is ToolRuns.ANY:
        return
    run = list(takewhile(lambda message: message["role"] == "tool", appended))
    if not run and not (appended and _needs_results(family)):
        return
    asked = _call_ids(history[-1]) if history else []
    answered = [message.get("tool_call_id") for message in run]
    missing = [call for call in asked if call not in answered]
    if missing:
        raise InvalidMessages(
            f"the tool results answer {len(answered)} of {len(asked)} calls; "
            f"family {family.name!r} needs all of them at once",
            hint="append the results of all calls together; a call that was interrupted has one that says so",
            details={"missing_tool_call_ids": missing},
        )


def refuse_unanswered_calls(family: Family, messages: Sequence[Message]) -> None:
    """Raise ``InvalidMessages`` for a conversation with calls that are not answered, where they must be."""
    if not _needs_results(family):
        return
    for count, message in enumerate(messages, start=1):
        if message["role"] == "assistant":
            refuse_incomplete_run(family, messages[:count], messages[count:])


def _needs_results(family: Family) -> bool:
    return family.tool_runs is ToolRuns.COMPLETE and family.encoder is not None


def _call_ids(message: Message) -> list[JsonValue]:
    calls = message.get("tool_calls")
    if not isinstance(calls, Sequence) or isinstance(calls, str):
        return []
    return [call.get("id") for call in calls if isinstance(call, Mapping)]


__all__ = ["refuse_incomplete_run", "refuse_unanswered_calls"]
