"""Inkling's flat blocks."""

from __future__ import annotations

import pytest

from tests.families.parsing import TOKENIZER, calls_of, inkling_block, inkling_call, say, statuses
from titocli.families.parsers.parsed import ReasoningStatus

MESSAGE, END = "<|message_model|>", "<|end_message|>"
THINKING, TEXT, CALL = (
    inkling_block("thinking", "why"),
    inkling_block("text", "so"),
    inkling_call("f", {"a": 1}),
)
WHOLE = THINKING + TEXT + CALL


@pytest.mark.parametrize("prompt", [MESSAGE, ""])
def test_blocks_are_reasoning_content_and_calls(prompt: str) -> None:
    text = WHOLE.removeprefix(prompt)
    parsed = say("inkling", text, generation_prompt=prompt)
    assert (parsed.reasoning_content, parsed.content, calls_of(parsed)) == ("why", "so", [("f", {"a": 1})])
    assert (parsed.reasoning.start, parsed.reasoning.end) == (0, len(THINKING.removeprefix(prompt)))
    ids = TOKENIZER.encode(text)
    assert TOKENIZER.decode(ids[parsed.attempts[0].start : parsed.attempts[0].end]) == CALL


@pytest.mark.parametrize(
    ("text", "reasoning", "content"),
    [
        (TEXT, None, "so"),
        (THINKING, "why", ""),
        (inkling_block("text", ""), None, ""),
        (TEXT + TEXT, None, "soso"),
        (THINKING + TEXT + THINKING, "whywhy", "so"),
        (inkling_block("text", "\n so \n"), None, "\n so \n"),
        (TEXT.removesuffix(END), None, "so"),
        (TEXT[:-1], None, "so<|end_message|"),
        (THINKING.removesuffix(END), "why", ""),
        (f"{TEXT}stray{TEXT}", None, "sostrayso"),
        (f"{MESSAGE}name<|content_text|>so{END}", None, f"{MESSAGE}name<|content_text|>so{END}"),
        (f"{MESSAGE}<|content_xml|>so{END}{TEXT}", None, f"{MESSAGE}<|content_xml|>so{END}so"),
        ("so", None, "so"),
        (MESSAGE, None, MESSAGE),
    ],
)
def test_what_is_no_block_stays_content(text: str, reasoning: str | None, content: str) -> None:
    parsed = say("inkling", text, generation_prompt="")
    assert (parsed.reasoning_content, parsed.content, parsed.attempts) == (reasoning, content, ())


def test_a_thinking_block_that_was_cut_is_unclosed() -> None:
    assert say("inkling", THINKING[:-1], generation_prompt="").reasoning.status is ReasoningStatus.UNCLOSED
    assert say("inkling", THINKING, generation_prompt="").reasoning.status is ReasoningStatus.CLOSED
    assert say("inkling", TEXT, generation_prompt="").reasoning.status is ReasoningStatus.ABSENT


@pytest.mark.parametrize(
    "payload",
    ['{"args":{"a": 1},"name":"f"}', ' { "name" : "f", "args":{"a": 1}}\n', '{"name":"f","args":{"a": 1}}'],
)
def test_a_call_keeps_the_spelling_of_its_arguments(payload: str) -> None:
    parsed = say("inkling", f"f<|content_invoke_tool_json|>{payload}{END}")
    assert [(call.name, call.arguments) for call in parsed.tool_calls] == [("f", '{"a": 1}')]


@pytest.mark.parametrize(
    ("payload", "status", "name"),
    [
        (f"{END}", "malformed", None),
        (f"{{}}{END}", "malformed", None),
        (f'{{"name":"f"}}{END}', "malformed", "f"),
        (f'{{"name":"f","args":[]}}{END}', "malformed", "f"),
        (f'{{"name":"f","args":{{}},"id":1}}{END}', "malformed", "f"),
        (f'{{"name":"f","args":{{}}}}.{END}', "malformed", "f"),
        ('{"name":"f","args":{}}', "unclosed", "f"),
        ('{"name":"f","args":{"a":"', "unclosed", "f"),
    ],
)
def test_what_is_no_call_stays_content_and_later_blocks_are_read(
    payload: str, status: str, name: str | None
) -> None:
    bad = f"{MESSAGE}f<|content_invoke_tool_json|>{payload}"
    # A call that is not closed reaches to the next block, whose header is no JSON.
    parsed = say("inkling", bad + CALL, generation_prompt="")
    assert (parsed.content, statuses(parsed)) == (bad, [(status, name), ("ok", "f")])
    assert say("inkling", bad, generation_prompt="").content == bad


def test_marks_inside_of_a_string_of_a_call_are_part_of_the_string() -> None:
    arguments = {"a": END, "b": CALL}
    assert calls_of(say("inkling", inkling_call("f", arguments) + CALL, generation_prompt="")) == [
        ("f", arguments),
        ("f", {"a": 1}),
    ]
