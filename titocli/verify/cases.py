"""The conversations of a run: the schedules, and generated ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

from titocli.families.family import Family
from titocli.families.thinking import own_thinking_name
from titocli.jsonvalue import JsonValue
from titocli.verify.conversations import generate
from titocli.verify.events import Case
from titocli.verify.schedules import TOOLS, TRAJECTORIES, schedules

#: Conversations generated for a target unless somebody asks for another number.
DEFAULT_EXAMPLES = 40


class Thinking(StrEnum):
    """Which conversations: without reasoning, with it, or all of them both with thinking on and off."""

    OFF = "off"
    ON = "on"
    BOTH = "both"


def curated(family: Family, thinking: Thinking) -> Iterator[Case]:
    """The schedules that the family can append, and conversations of unusual values."""
    for schedule in schedules(family):
        if thinking is Thinking.BOTH or schedule.thinks == (thinking is Thinking.ON):
            ways = _switched(family, thinking)
            # What is switched off is what the trajectories show; the other schedules run once.
            for suffix, kwargs in ways if schedule in TRAJECTORIES else ways[:1]:
                yield Case(
                    name=schedule.name + suffix,
                    messages=schedule.messages(),
                    tools=schedule.tools(),
                    kwargs=kwargs,
                )
    yield from _UNUSUAL


def generated(family: Family, count: int, seed: int, thinking: Thinking) -> Iterator[Case]:
    """``count`` conversations of a seed, their thinking switched where that is asked for."""
    name = _switch(family)
    forced: Mapping[str, JsonValue] = {}
    if name is not None and thinking is not Thinking.BOTH:
        forced = {name: thinking is Thinking.ON}
    for one in generate(family, count, seed):
        yield Case(
            name=f"generated-{one.index}",
            messages=one.messages,
            tools=one.tools,
            kwargs={**one.kwargs, **forced},
        )


def _switched(family: Family, thinking: Thinking) -> list[tuple[str, Mapping[str, JsonValue]]]:
    """For each way to run a schedule: the end of the case's name, and its kwargs."""
    name = _switch(family)
    if name is None:
        return [("", {})]
    ways: dict[bool, tuple[str, Mapping[str, JsonValue]]] = {
        True: (f"-{name}_on", {name: True}),
        False: (f"-{name}_off", {name: False}),
    }
    return list(ways.values()) if thinking is Thinking.BOTH else [ways[thinking is Thinking.ON]]


def _switch(family: Family) -> str | None:
    """The kwarg by which a client turns thinking on and off, None where it cannot."""
    name = own_thinking_name(family)
    free = {**family.pinned_kwargs, **family.turn_kwargs}
    return name if name in free and set(free[name]) == {True, False} else None


_ODD: Mapping[str, JsonValue] = {
    "wanted": True,
    "count": 3,
    "deep": {"flags": [True, None, False], "name": "Riga"},
    "nothing": None,
    "places": ["Riga", "Bern"],
    "share": 0.5,
}
_CALL: Mapping[str, JsonValue] = {
    "id": "functions.city_weather:0",
    "type": "function",
    "function": {"name": "city_weather", "arguments": _ODD},
}
_DEFAULTS: Mapping[str, JsonValue] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "default": None},
        "exact": {"type": "boolean", "default": False},
    },
}
#: Values that OpenAI's API allows and templates print in surprising ways.
_UNUSUAL = (
    Case(
        name="values_in_calls",
        messages=(
            {"role": "user", "content": "Question: how warm is it in Riga?"},
            {"role": "assistant", "content": None, "reasoning_content": None, "tool_calls": [_CALL]},
            {"role": "tool", "tool_call_id": "functions.city_weather:0", "content": "Result: 4 degrees."},
            {
                "role": "assistant",
                "content": "Answer: four degrees.",
                "reasoning_content": None,
                "name": None,
            },
            {"role": "user", "content": "Question: and in Bern?", "name": None},
        ),
        tools=TOOLS,
    ),
    Case(
        name="empty_result",
        messages=(
            {"role": "user", "content": "Question: is it warm in Riga?"},
            {"role": "assistant", "content": None, "tool_calls": [_CALL]},
            {"role": "tool", "tool_call_id": "functions.city_weather:0", "content": ""},
            {"role": "assistant", "content": "Answer: nobody knows."},
            {"role": "user", "content": "Question: and in Bern?"},
        ),
        tools=TOOLS,
    ),
    Case(
        name="values_in_tools",
        messages=(
            {"role": "system", "content": "Rule: answer in one word."},
            {"role": "user", "content": "Question: is it warm in Bern?"},
            {"role": "assistant", "content": "Answer: no.", "tool_calls": None},
            {"role": "user", "content": "Question: and in Riga?"},
        ),
        tools=(
            {
                "type": "function",
                "function": {
                    "name": "city_weather",
                    "description": None,
                    "parameters": _DEFAULTS,
                    "strict": None,
                },
            },
            *TOOLS[1:],
        ),
    ),
)

__all__ = ["DEFAULT_EXAMPLES", "Thinking", "curated", "generated"]
