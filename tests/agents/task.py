"""The task that every client does: ask for the weather in two cities, one call a turn, then answer."""

from __future__ import annotations

from typing import Any

from tests.agents.conftest import answer, call

QUESTION = "Where is it warmer, Paris or Oslo?"
FINAL = "It is warmer in Paris."
RESULTS = ["17 degrees", "9 degrees"]

SCRIPT: list[dict[str, Any]] = [
    call("weather", {"city": "Paris", "unit": "C"}, thinking="Paris first"),
    call("weather", {"unit": "C", "city": "Oslo"}, thinking="now Oslo"),
    answer(FINAL, thinking="compare"),
]

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "unit": {"type": "string"}},
    "required": ["city"],
}
OPENAI_TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": "weather", "description": "Weather.", "parameters": PARAMETERS}}
]
ANTHROPIC_TOOLS: list[dict[str, Any]] = [
    {"name": "weather", "description": "Weather.", "input_schema": PARAMETERS}
]


def assert_one_line(shown: Any) -> None:
    """The session has three turns in one line, each on all ids of the one before it, with no hard mismatch.

    The script's own spelling of arguments is a soft one: no render would write it so.
    """
    nodes = shown["metadata"]["tree"]["nodes"]
    assert [node["parent"] for node in nodes] == [None, 0, 1]
    assert {each["type"] for each in shown["metadata"]["tito_session_mismatch"]} == {"assistant_text"}
    assert [node["reused_tokens"] for node in nodes[1:]] == [node["num_tokens"] for node in nodes[:-1]]
