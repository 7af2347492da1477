"""Reported cases about tools: a11, a12, a30, a34."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cases.rendering import CONTRACTS, LABELS, NAMED, text_of, user

TOOL = {
    "type": "function",
    "function": {
        "name": "say",
        "description": 'Geeft "é" <b> & \u00a0 ok',
        "parameters": {
            "type": "object",
            "properties": {
                "z": {"type": "string", "enum": ["ü", "a"]},
                "a": {"type": "integer", "default": 0},
            },
            "required": ["z"],
        },
    },
}
#: What each family prints of a tool, where that is one piece of JSON.
WHOLE = {"qwen3", "qwennext", "qwen35", "qwen36", "qwen38small", "qwen4exp"}
FUNCTION = {"minimax_m25", "minimax_m27", "deepseekv32", "deepseekv4", "deepseekv41"}


@pytest.mark.parametrize("label", LABELS)
def test_a11_a_tool_is_printed_without_escapes(label: str) -> None:
    text = text_of(label, [user("hi")], tools=[TOOL])

    assert "é" in text
    assert "<b> &" in text
    for escaped in ("\\u00e9", "\\u003c", "&lt;", "&amp;"):
        assert escaped not in text
    if CONTRACTS[label].name in WHOLE or label in {"glm47-4.7", "glm47-5"}:
        assert json.dumps(TOOL, ensure_ascii=False) in text
    if CONTRACTS[label].name in FUNCTION:
        assert json.dumps(TOOL["function"], ensure_ascii=False) in text


@pytest.mark.parametrize("label", LABELS)
def test_a12_a_tool_has_the_members_that_the_client_sent(label: str) -> None:
    bare = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    text = text_of(label, [user("hi")], tools=[bare])

    for word in ('"strict"', "defer_loading", '"description": null', "None"):
        assert word not in text


@pytest.mark.parametrize("label", [NAMED["kimi25"], NAMED["kimi26"]])
def test_a30_the_order_of_keys_does_not_change_typescript(label: str) -> None:
    def turned(value: Any) -> Any:
        return {key: turned(value[key]) for key in reversed(value)} if isinstance(value, dict) else value

    text = text_of(label, [user("hi")], tools=[TOOL])
    assert text == text_of(label, [user("hi")], tools=[turned(TOOL)])
    assert "namespace functions {" in text


@pytest.mark.parametrize("label", LABELS)
def test_a34_no_tools_are_no_tools_in_every_spelling(label: str) -> None:
    assert text_of(label, [user("hi")], tools=[]) == text_of(label, [user("hi")])
