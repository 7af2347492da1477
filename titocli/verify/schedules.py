"""Curated conversations: the orders of messages in which templates are known to go wrong.

A schedule is written as a line of words, one a message: ``s`` system, ``u`` user, ``t`` a tool's result,
``a`` assistant.  After ``a``, a digit is a number of tool calls, ``r`` reasoning, ``e`` empty reasoning,
``c`` content beside the calls, ``x`` empty content.  Texts are distinct: each can be found in a render.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from titocli.families.family import Family, Role
from titocli.jsonvalue import JsonObject, JsonValue, Message, Tool

_ROLES = {"s": Role.SYSTEM, "u": Role.USER, "a": Role.ASSISTANT, "t": Role.TOOL}
_CITIES = ("Oslo", "Lima", "Quito", "Turin", "Osaka", "Dakar", "Perth", "Minsk", "Cairo")

#: From so many calls in one message on, all are of the same tool.
_ALIKE = 3

#: What the calls of schedules call.
TOOLS: tuple[Tool, ...] = (
    {
        "type": "function",
        "function": {
            "name": "city_weather",
            "description": "Temperature and rain in a city.",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "Name of the city."},
                    "days": {"type": "integer", "description": "Days from today."},
                },
                "required": ["city"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "train_times",
            "description": "Trains that leave a city.",
            "parameters": {
                "type": "object",
                "properties": {
                    "origin": {"type": "string", "description": "Where the train leaves."},
                    "direct": {"type": "boolean", "description": "Without a change."},
                },
                "required": ["origin"],
            },
        },
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """An order of messages; ``positions`` are numbers of first messages that a session may have stored."""

    name: str
    shape: str
    positions: tuple[int, ...] = ()
    has_tools: bool = True

    @property
    def words(self) -> tuple[str, ...]:
        """The shape, message by message."""
        return tuple(self.shape.split())

    @property
    def thinks(self) -> bool:
        """Whether a message has reasoning, be it empty."""
        return any(word[0] == "a" and set(word) & set("re") for word in self.words)

    @property
    def append_roles(self) -> frozenset[Role]:
        """The roles of messages that follow an assistant's answer."""
        first = next((n for n, word in enumerate(self.words) if word[0] == "a"), len(self.words))
        later = self.words[first + 1 :]
        appended = {_ROLES[word[0]] for word in later if word[0] != "a"}
        return frozenset(appended | ({Role.ASSISTANT} if _has_pair(self.words) else set()))

    def messages(self) -> tuple[Message, ...]:
        """The conversation."""
        return tuple(_messages(self.words))

    def tools(self) -> tuple[Tool, ...] | None:
        """Its tools, None where the request has none."""
        return TOOLS if self.has_tools else None


def _has_pair(words: tuple[str, ...]) -> bool:
    return any(one[0] == other[0] == "a" for one, other in pairwise(words))


def _messages(words: tuple[str, ...]) -> Iterator[Message]:
    waiting: list[str] = []
    calls = 0
    for number, word in enumerate(words):
        if word[0] == "a":
            message = _assistant(word, number, first_call=calls)
            made = _ids(message)
            calls += len(made)
            waiting = [*waiting, *made]
            yield message
        elif word == "t":
            answered = waiting.pop(0)
            text = f"Result {number}: {10 + number} degrees in {_city(number)}."
            yield {"role": "tool", "tool_call_id": answered, "content": text}
        else:
            yield {"role": _ROLES[word[0]].value, "content": _text(word[0], number)}


def _city(number: int) -> str:
    return _CITIES[number % len(_CITIES)]


def _text(kind: str, number: int) -> str:
    if kind == "s":
        return f"Rule {number}: answer in short sentences about {_city(number)}."
    return f"Question {number}: how warm is it in {_city(number)}?"


def _assistant(word: str, number: int, *, first_call: int) -> Message:
    calls = next((int(letter) for letter in word if letter.isdigit()), 0)
    answer = f"Answer {number}: it is mild in {_city(number)}."
    content = answer if "c" in word or not calls else None
    message: dict[str, JsonValue] = {"role": "assistant", "content": "" if "x" in word else content}
    if "r" in word or "e" in word:
        thought = f"Thought {number}: the user asks about {_city(number)}."
        message["reasoning_content"] = thought if "r" in word else ""
    if calls:
        message["tool_calls"] = [_call(first_call + n, number, alike=calls >= _ALIKE) for n in range(calls)]
    return message


def _call(index: int, number: int, *, alike: bool) -> JsonObject:
    place = f"{_city(number + index)} {index}"
    weather: JsonObject = {"city": place, "days": number}
    trains: JsonObject = {"direct": True, "origin": place}
    name, arguments = ("city_weather", weather) if alike or index % 2 == 0 else ("train_times", trains)
    # Kimi's own form, which is as good as any other elsewhere.
    call_id = f"functions.{name}:{index}"
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _ids(message: Message) -> list[str]:
    calls = message.get("tool_calls")
    return [str(call["id"]) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _plain(name: str, shape: str, *positions: int, has_tools: bool = True) -> Schedule:
    return Schedule(name=name, shape=shape, positions=positions, has_tools=has_tools)


#: The trajectories that miles checks its templates by, with their positions.
TRAJECTORIES: tuple[Schedule, ...] = (
    _plain("single_tool", "s u a1 t", 3),
    _plain("multi_turn", "s u a1 t a1 t", 3, 5),
    _plain("multi_tool_single_turn", "s u a2 t t", 3),
    _plain("parallel_tools", "s u a3 t t t", 3),
    _plain("long_chain", "s u a1 t a1 t a1 t", 3, 5, 7),
    _plain("multi_user_tool_chain", "s u a1 t a u a1 t a1 t", 3, 5, 7, 9),
    _plain("retry_system", "s u a1 t s a1 t", 3, 6),
    _plain("intermediate_system", "s u a1 t s a1 t s a1 t", 3, 6, 9),
    _plain("simple_no_tool", "s u a s u a", 3, 4, 5, 6, has_tools=False),
    _plain("multi_turn_no_tool", "s u a u a u", 3, 5, has_tools=False),
    _plain("single_tool_thinking", "s u a1r t u a1r t u a", 3, 4, 5, 6, 7, 8),
    _plain("multi_turn_thinking", "s u a1r t a1r t", 3, 5),
    _plain("long_chain_thinking", "s u a1r t a1r t a1r t", 3, 5, 7),
    _plain("multi_user_turn_thinking", "s u a1r t ar u a1r t", 7),
    _plain("intermediate_system_thinking", "s u a1r t s a1r t s a1r t", 3, 6, 9),
    _plain("multi_turn_no_tool_thinking", "s u ar u ar u", 3, 5, has_tools=False),
    _plain("multi_role_sequence", "s u a1 t u a1 s t a", 3, 4, 6),
)

#: More of them: what the trajectories leave out.
MORE: tuple[Schedule, ...] = (
    _plain("no_system", "u a u a u", has_tools=False),
    _plain("no_system_tools", "u a1 t a u a1 t a"),
    _plain("two_questions", "s u u a u u a u", has_tools=False),
    _plain("assistant_input", "s u a a u a a u", has_tools=False),
    _plain("assistant_after_results", "s u a2 t t a a u"),
    _plain("late_system", "s u a s s u a s", has_tools=False),
    _plain("results_then_user", "s u a1 t u a u"),
    _plain("empty_answer", "s u ax u ax u"),
    _plain("words_beside_calls", "s u a1c t a2c t t a u"),
    _plain("long_talk", "s u a u a u a u a u a u", has_tools=False),
    _plain("many_calls_thinking", "s u a3r t t t a2cr t t ar u"),
    _plain("sometimes_thinking", "s u ar u a u ar u a u", has_tools=False),
    _plain("empty_thinking", "s u ae u ae u ae a u"),
    _plain("empty_answer_thinking", "s u axr u axr u a u"),
    _plain("no_system_thinking", "u ar u a1r t ar u"),
    _plain("assistant_input_thinking", "s u ar ar u ar a u"),
    _plain("late_system_thinking", "s u ar s u ar s ar u", has_tools=False),
    _plain("thinking_then_not_tools", "s u a1r t a1 t a u a1 t ar u"),
)


def schedules(family: Family) -> tuple[Schedule, ...]:
    """The schedules that append only what the family appends."""
    allowed = frozenset(family.append_roles)
    return tuple(each for each in (*TRAJECTORIES, *MORE) if each.append_roles <= allowed)


__all__ = ["MORE", "TOOLS", "TRAJECTORIES", "Schedule", "schedules"]
