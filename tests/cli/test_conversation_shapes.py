"""What ``titocli render`` reads: the shapes of a conversation, and Anthropic's in particular."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import MESSAGES, Run
from titocli.cli.conversations import read_conversations
from titocli.errors import InvalidMessages
from titocli.jsonvalue import JsonObject, Tool
from titocli.wire.anthropic_conversation import is_anthropic, openai_messages, openai_tools

TOY = ("--family", "qwen3", "--template", "toy.jinja")
TOOL: Tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}

ANTHROPIC: dict[str, Any] = {
    "model": "m",
    "max_tokens": 100,
    "system": [{"type": "text", "text": "Be "}, {"type": "text", "text": "brief."}],
    "messages": [
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "I have a tool.", "signature": "x"},
                {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "t1", "name": "f", "input": {"city": "Paris"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "18"}]},
                {"type": "tool_result", "tool_use_id": "t2", "content": "19", "is_error": True},
                {"type": "text", "text": "And?"},
            ],
        },
    ],
    "tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}}],
}


def test_an_anthropic_body_becomes_the_same_conversation_in_openais_shape() -> None:
    call = {"id": "t1", "type": "function", "function": {"name": "f", "arguments": {"city": "Paris"}}}
    assert openai_messages(ANTHROPIC) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": "Let me see.",
            "reasoning_content": "I have a tool.",
            "tool_calls": [call],
        },
        {"role": "tool", "tool_call_id": "t1", "content": "18"},
        {"role": "tool", "tool_call_id": "t2", "content": "19"},
        {"role": "user", "content": "And?"},
    ]
    assert openai_tools(ANTHROPIC["tools"]) == [
        {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}
    ]


def test_an_openai_body_is_not_taken_for_anthropics() -> None:
    assert not is_anthropic({"messages": MESSAGES, "tools": [TOOL], "max_tokens": 3})
    assert is_anthropic({"messages": MESSAGES, "tools": ANTHROPIC["tools"]})
    assert is_anthropic({"messages": ANTHROPIC["messages"]})
    assert is_anthropic({"messages": MESSAGES, "system": "s"})


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ([{"type": "server_tool_use", "name": "x"}], "'server_tool_use'"),
        ([{"type": "tool_use", "input": {}}], "without a name"),
        (["text"], "without a type"),
    ],
)
def test_a_block_that_cannot_be_expressed_is_refused_with_its_index(content: list[Any], says: str) -> None:
    body: JsonObject = {
        "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": content}]
    }

    with pytest.raises(InvalidMessages, match=says) as error:
        openai_messages(body)

    assert error.value.details == {"message_index": 1}


def test_a_tool_result_with_an_image_is_refused() -> None:
    result: JsonObject = {"type": "tool_result", "content": [{"type": "image", "source": {}}]}

    with pytest.raises(InvalidMessages, match="not text"):
        openai_messages({"messages": [{"role": "user", "content": [result]}]})


def test_an_anthropic_body_renders_with_its_tools(run: Run) -> None:
    outcome = run("render", "-", "--family", "qwen35", stdin=json.dumps(ANTHROPIC).encode())

    text = outcome.out.decode()
    assert outcome.code == 0
    assert text.index("Be brief.") < text.index("I have a tool.") < text.index("<tool_response>\n18")
    assert '"parameters": {"type": "object"}' in text


def test_an_openai_body_brings_tools_kwargs_and_effort(run: Run, folder: Path) -> None:
    body = {
        "model": "m",
        "stream": True,
        "messages": MESSAGES,
        "tools": [TOOL],
        "chat_template_kwargs": {"enable_thinking": False},
        "reasoning_effort": "low",
    }
    (folder / "request.json").write_text(json.dumps(body))

    data = run("render", "request.json", "--family", "qwen4exp", "--json").document["data"]

    assert data["kwargs"] == {"enable_thinking": False, "reasoning_effort": "low", "preserve_thinking": True}
    assert '"name": "f"' in data["text"]


def test_options_win_over_the_body(run: Run, folder: Path) -> None:
    body = {"messages": MESSAGES, "tools": [TOOL], "reasoning": {"effort": "low"}}
    (folder / "request.json").write_text(json.dumps(body))
    (folder / "tools.json").write_text(json.dumps({"tools": [{"name": "g", "input_schema": {}}]}))

    argv = ("--family", "qwen4exp", "--reasoning-effort", "medium", "--tools", "tools.json")
    data = run("render", "request.json", *argv, "--json").document["data"]

    assert data["kwargs"]["reasoning_effort"] == "medium"
    assert '"name": "g"' in data["text"]
    assert '"name": "f"' not in data["text"]


def test_a_byte_order_mark_is_not_part_of_the_conversation(run: Run) -> None:
    data = b"\xef\xbb\xbf" + json.dumps(MESSAGES).encode()

    assert run("render", "-", *TOY, stdin=data).code == 0


@pytest.mark.parametrize(
    ("text", "count", "one_a_line"),
    [
        (json.dumps(MESSAGES), 1, False),
        (json.dumps(MESSAGES, indent=1), 1, False),
        (f"{json.dumps(MESSAGES)}\n\n{json.dumps(MESSAGES)}", 2, True),
        (f"{json.dumps({'messages': MESSAGES})}\r\n" * 3, 3, True),
    ],
)
def test_json_lines_are_told_from_one_document(folder: Path, text: str, count: int, one_a_line: bool) -> None:
    (folder / "chat").write_bytes(text.encode())

    file = read_conversations("chat")

    assert (len(file.conversations), file.one_a_line) == (count, one_a_line)
