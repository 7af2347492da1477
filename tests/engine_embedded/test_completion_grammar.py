"""Whole completions: think block, text and calls as the family's template writes them."""

from __future__ import annotations

import random
import re

import pytest

from tests.engine_embedded.requests import WEATHER, a_request
from tests.engine_embedded.walks import matches, random_member
from titocli.engine.embedded.completion_grammar import (
    ThinkBlock,
    required_grammar,
    spoken_grammar,
    think_block,
)
from titocli.engine.embedded.tool_choice import Need, ToolChoice, read_tool_choice
from titocli.errors import UnsupportedRequest
from titocli.families.registry import get_family
from titocli.jsonvalue import Tool

OPEN, CLOSED, BARE = ("<|im_start|>assistant\n" + end for end in ("<think>\n", "<think>\n\n</think>\n\n", ""))
HERMES = b'<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}\n</tool_call>'
XML = (
    b"<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n"
    b"<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>"
)
CALLS = {"qwen3": HERMES, "qwen35": XML}
BEFORE_CALLS = {"qwen3": b"\n", "qwen35": b"\n\n"}


def _tools(need: Need) -> ToolChoice:
    return ToolChoice(need=need, tools=(WEATHER,) if need is not Need.NONE else ())


@pytest.mark.parametrize(
    ("family", "prompt", "expected"),
    [
        ("qwen3", OPEN, ThinkBlock.OPEN),
        ("qwen3", CLOSED, ThinkBlock.CLOSED),
        ("qwen3", BARE, ThinkBlock.UNOPENED),
        ("default", OPEN, ThinkBlock.NONE),
    ],
)
def test_the_think_block_is_read_from_the_generation_prompt(
    family: str, prompt: str, expected: ThinkBlock
) -> None:
    assert think_block(get_family(family), prompt) is expected


@pytest.mark.parametrize("family", ["qwen3", "qwen35"])
def test_spoken_text_follows_the_think_block(family: str) -> None:
    def spoken(prompt: str, text: bytes, need: Need = Need.NONE) -> bool:
        return matches(spoken_grammar(get_family(family), prompt, _tools(need)), text)

    assert spoken(OPEN, b"so it is\n</think>\n\nhello")
    assert spoken(OPEN, b"\n</think>\n\nhello")
    assert not spoken(OPEN, b"hello")
    assert not spoken(OPEN, b"x" * 25 + b"\n</think>\n\nhello")
    assert spoken(CLOSED, b"x" * 32)
    assert not spoken(CLOSED, b"x" * 33)
    assert not spoken(CLOSED, b"")
    assert not spoken(CLOSED, b"a<b")
    assert spoken(BARE, b"<think>\nso\n</think>\n\nhello")
    assert not spoken(CLOSED, CALLS[family], Need.NONE)


@pytest.mark.parametrize("family", ["qwen3", "qwen35"])
def test_spoken_calls_are_in_the_familys_spelling(family: str) -> None:
    def spoken(need: Need, text: bytes) -> bool:
        return matches(spoken_grammar(get_family(family), CLOSED, _tools(need)), text)

    call, between = CALLS[family], BEFORE_CALLS[family]
    for need in (Need.AUTO, Need.REQUIRED):
        assert spoken(need, call)
        assert spoken(need, call + b"\n" + call)
        assert spoken(need, b"well" + between + call)
        assert not spoken(need, call + b"\n" + call + b"\n" + call)
        assert not spoken(need, call + call)
    assert spoken(Need.AUTO, b"well")
    assert not spoken(Need.REQUIRED, b"well")
    assert not spoken(Need.AUTO, CALLS["qwen35" if family == "qwen3" else "qwen3"])


def test_a_real_checkpoint_is_free_unless_calls_are_required() -> None:
    family = get_family("qwen3")
    assert required_grammar(family, OPEN, _tools(Need.AUTO)) is None
    assert required_grammar(family, OPEN, _tools(Need.NONE)) is None
    grammar = required_grammar(family, OPEN, _tools(Need.REQUIRED))
    assert grammar is not None
    assert matches(grammar, "ich däächte <tool_call> {]\n</think>\n\n".encode() + HERMES)
    assert not matches(grammar, b"no calls\n</think>\n\ntext")
    assert not matches(grammar, b"a</think>\n\nb</think>\n\n" + HERMES), "reasoning ends at the first end tag"
    bare = required_grammar(family, BARE, _tools(Need.REQUIRED))
    assert bare is not None
    assert matches(bare, HERMES)
    assert matches(bare, b"<think>\nx\n</think>\n\n" + HERMES)


def test_spoken_walks_end_and_have_no_stray_tag() -> None:
    grammar = spoken_grammar(get_family("qwen35"), BARE, _tools(Need.AUTO))
    for seed in range(200):
        text = random_member(grammar, random.Random(seed)).decode()
        assert re.fullmatch(r"<think>\n[^<]*\n</think>\n\n[^<]*(<tool_call>.*)?", text, re.DOTALL), text


def _choice(
    tool_choice: object, *, family: str = "qwen3", tools: tuple[Tool, ...] = (WEATHER,)
) -> ToolChoice:
    options = {} if tool_choice is None else {"tool_choice": tool_choice}
    return read_tool_choice(get_family(family), a_request(tools=tools, options=options))


def test_tool_choice_says_which_tools_may_be_called() -> None:
    other: Tool = {"type": "function", "function": {"name": "other"}}
    assert _choice(None) == _choice("auto") == _tools(Need.AUTO)
    assert _choice("none") == _tools(Need.NONE)
    assert _choice("required") == _tools(Need.REQUIRED)
    named = {"type": "function", "function": {"name": "get_weather"}}
    assert _choice(named, tools=(other, WEATHER)) == _tools(Need.REQUIRED)
    assert _choice("auto", tools=()) == _tools(Need.NONE)
    assert _choice("auto", family="default") == _tools(Need.NONE)


@pytest.mark.parametrize(
    ("tool_choice", "family", "tools"),
    [
        ("sometimes", "qwen3", (WEATHER,)),
        ({"type": "function"}, "qwen3", (WEATHER,)),
        ({"type": "function", "function": {"name": "absent"}}, "qwen3", (WEATHER,)),
        ("required", "qwen3", ()),
        ("required", "default", (WEATHER,)),
    ],
)
def test_a_tool_choice_that_cannot_be_honoured_is_refused(
    tool_choice: object, family: str, tools: tuple[Tool, ...]
) -> None:
    with pytest.raises(UnsupportedRequest) as refused:
        _choice(tool_choice, family=family, tools=tools)
    assert refused.value.details == {"param": "tool_choice"}
