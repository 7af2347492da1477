"""Calls that the grammar writes are read back by the family's parser, and printed again by its template."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine_embedded.requests import OPEN_THINK, WEATHER
from tests.engine_embedded.schemas import SCHEMAS, allows
from tests.engine_embedded.walks import random_member
from titocli.engine.embedded.completion_grammar import spoken_grammar
from titocli.engine.embedded.tool_choice import Need, ToolChoice
from titocli.engine.embedded.tool_grammar import one_or_two_calls
from titocli.families.family import Family
from titocli.families.kwargs import resolve_kwargs
from titocli.families.messages import normalise_messages
from titocli.families.parsers.completion import parse_completion
from titocli.families.parsers.parsed import AttemptStatus, ParsedCompletion
from titocli.families.registry import get_family
from titocli.families.renderer import family_renderer
from titocli.families.tiny import tiny_tokenizer

CLOSED_THINK = OPEN_THINK + "\n</think>\n\n"
NAMES = st.from_regex(r"[a-z_][a-z0-9_.-]{0,8}", fullmatch=True)


def _tool(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def _read(family: Family, text: bytes, tools: list[Any], prompt: str = CLOSED_THINK) -> ParsedCompletion:
    tokenizer = tiny_tokenizer(family)
    ids = list(text)  # a byte-level id is its byte
    return parse_completion(family, tokenizer, ids, generation_prompt=prompt, tools=tools, turn=0)


def _written(family: Family, tools: list[Any], random: Any) -> bytes:
    assert family.parsers.tool_call is not None
    return random_member(one_or_two_calls(family.parsers.tool_call, tools), random)


@settings(deadline=None)
@given(NAMES, st.dictionaries(NAMES, SCHEMAS, max_size=3), st.randoms(use_true_random=False))
def test_hermes_calls_are_read_as_calls_with_valid_arguments(
    name: str, members: dict[str, Any], random: Any
) -> None:
    parameters = {"type": "object", "properties": members, "required": list(members)}
    tools = [_tool(name, parameters), WEATHER]
    read = _read(get_family("qwen3"), _written(get_family("qwen3"), tools, random), tools)
    assert read.content == ""
    assert 1 <= len(read.tool_calls) == len(read.attempts) <= 2
    assert {attempt.status for attempt in read.attempts} == {AttemptStatus.OK}
    for call in read.tool_calls:
        assert call.name in {name, "get_weather"}
        if call.name == name != "get_weather":
            assert allows(parameters, json.loads(call.arguments))


@settings(deadline=None)
@given(NAMES, st.dictionaries(NAMES, SCHEMAS, max_size=3), st.randoms(use_true_random=False))
def test_xml_calls_are_read_as_calls_with_their_parameters_in_order(
    name: str, members: dict[str, Any], random: Any
) -> None:
    parameters = {"type": "object", "properties": members, "required": list(members)}
    tools = [_tool(name, parameters)]
    read = _read(get_family("qwen35"), _written(get_family("qwen35"), tools, random), tools)
    assert read.content == ""
    assert {attempt.status for attempt in read.attempts} == {AttemptStatus.OK}
    for call in read.tool_calls:
        assert call.name == name
        assert list(json.loads(call.arguments)) == list(members)


@pytest.mark.parametrize("family", ["qwen3", "qwennext", "qwen35", "qwen36", "qwen38small"])
@settings(deadline=None)
@given(random=st.randoms(use_true_random=False))
def test_a_spoken_completion_is_what_the_template_prints_of_its_message(family: str, random: Any) -> None:
    """The built-in model speaks canonically as text, so a session of it has no soft mismatch."""
    contract = get_family(family)
    choice = ToolChoice(need=Need.AUTO, tools=(WEATHER,))
    text = random_member(spoken_grammar(contract, OPEN_THINK, choice), random)
    message = _read(contract, text, [WEATHER], OPEN_THINK).message()
    renderer = family_renderer(contract)
    messages = normalise_messages(contract, [{"role": "user", "content": "hi"}, message])
    rendered = renderer.text(messages, kwargs=resolve_kwargs(contract), generation_prompt=False)
    assert rendered.endswith(f"{OPEN_THINK}{text.decode()}<|im_end|>\n")
