"""Runs of tool results, for families whose template puts a run in the order of the calls.

There a later result can move an earlier one that is already in the prefix, so a run is appended whole: one
result for every call of the assistant message before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile

from titocli.errors import InvalidMessages
from titocli.families.family import Family, ToolRuns
from titocli.jsonvalue import JsonValue, Message


def refuse_incomplete_run(family: Family, history: Sequence[Message], appended: Sequence[Message]) -> None:
    """Raise ``InvalidMessages`` for appended results that do not answer every call before them."""
    if family.tool_runs is ToolRuns.ANY:
        return
    run = list(takewhile(lambda message: message["role"] == "tool", appended))
    calls = history[-1].get("tool_calls") if history else None
    asked = _ids(calls) if isinstance(calls, Sequence) and not isinstance(calls, str) else []
    answered = [message.get("tool_call_id") for message in run]
    missing = [call for call in asked if call not in answered]
    if run and missing:
        raise InvalidMessages(
            f"the tool results answer {len(answered)} of {len(asked)} calls; "
            f"family {family.name!r} needs all of them at once",
            hint="append the results of all calls together",
            details={"missing_tool_call_ids": missing},
        )


def _ids(calls: Sequence[JsonValue]) -> list[JsonValue]:
    return [call.get("id") for call in calls if isinstance(call, Mapping)]


__all__ = ["refuse_incomplete_run"]
