"""Ids of tool calls in the form that Kimi's models write: ``functions.NAME:INDEX``.

Kimi's template prints ids, and its models only know that form, INDEX counting the calls of the conversation
from 0.  A client's own ids (``call_abc``, ``toolu_01``) are text that no model was trained on.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum

from titocli.families.family import Family, Role, ToolCallGrammar
from titocli.jsonvalue import JsonObject, JsonValue, Message

_MODELS_FORM = re.compile(r"functions\.[^\s:]+:\d+")


class CallIds(StrEnum):
    """What is printed for the id of a call that a client made up."""

    #: The id as it came, as the checkpoints' own template does it.
    VERBATIM = "verbatim"
    #: ``functions.NAME:INDEX``.
    FUNCTIONS = "functions"


def prints_call_ids(family: Family) -> bool:
    """Whether the family's template prints ids of calls."""
    return family.parsers.tool_call is ToolCallGrammar.KIMI_SECTIONS


def with_functions_ids(messages: Sequence[Message], *, generated: Collection[int] = ()) -> list[Message]:
    """The conversation with every call's id, and that of its results, in the form of the models.

    Ids of that form stay, and those of ``generated`` messages (by index): a model's words are never changed.
    A message gets the same ids whatever follows it.
    """
    return list(_renamed(messages, generated))


def _renamed(messages: Sequence[Message], generated: Collection[int]) -> Iterator[Message]:
    taken: set[str] = set()
    # What the last call with an id is called now; its result bears that.
    names: dict[JsonValue, str] = {}
    count = 0
    for index, message in enumerate(messages):
        renamed = []
        for call in _calls(message):
            name = _name(call, count, taken, verbatim=index in generated)
            names[call.get("id")] = name
            taken.add(name)
            renamed.append({**call, "id": name})
            count += 1
        yield {**message, "tool_calls": renamed} if renamed else _answering(message, names)


def _calls(message: Message) -> list[JsonObject]:
    calls = message.get("tool_calls")
    if message.get("role") != Role.ASSISTANT or isinstance(calls, str) or not isinstance(calls, Sequence):
        return []
    return [call for call in calls if isinstance(call, Mapping)]


def _name(call: JsonObject, count: int, taken: Collection[str], *, verbatim: bool) -> str:
    given = str(call.get("id"))
    if verbatim or _MODELS_FORM.fullmatch(given):
        return given
    function = call.get("function", call)
    name = function.get("name") if isinstance(function, Mapping) else None
    # A model may have counted differently: an index that it used for this function is passed over.
    while (made := f"functions.{name}:{count}") in taken:
        count += 1
    return made


def _answering(message: Message, names: Mapping[JsonValue, str]) -> Message:
    given = message.get("tool_call_id")
    if message.get("role") != Role.TOOL or not isinstance(given, str) or given not in names:
        return message
    return {**message, "tool_call_id": names[given]}


__all__ = ["CallIds", "prints_call_ids", "with_functions_ids"]
