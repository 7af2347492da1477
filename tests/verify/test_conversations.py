"""Generated conversations are reproducible, realistic in order, and contain what they promise."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from titocli.families.family import Family, Role
from titocli.families.messages import normalise_messages, normalise_tools
from titocli.families.registry import BUILT_IN, get_family
from titocli.verify.conversations import Conversation, conversation, generate
from titocli.verify.features import coverage

FEATURES = {
    "system first",
    "system absent",
    "no user",
    "user after user",
    "user after assistant",
    "user after system",
    "user after tool",
    "assistant after user",
    "assistant after tool",
    "assistant after assistant",
    "tool after assistant",
    "tool after tool",
    "tools none",
    "tools empty",
    "tools some",
    "tool calls 0",
    "tool calls 1",
    "tool calls 2",
    "tool calls 3",
    "arguments object",
    "arguments empty",
    "arguments JSON text",
    "argument str",
    "argument int",
    "argument float",
    "argument bool",
    "argument NoneType",
    "argument list",
    "argument dict",
    "reasoning absent",
    "reasoning null",
    "reasoning empty",
    "reasoning whitespace",
    "reasoning text",
    "reasoning padded",
    "content empty",
    "content whitespace",
    "content text",
    "part text",
    "thinking inside content",
    "wrapped tool result from user",
    "text cjk",
    "text emoji",
    "text combining",
    "text right-to-left",
    "text line separator",
    "text no-break space",
    "text tab",
    "text carriage return",
    "text markup",
    "text html",
    "text jinja",
    "text newlines around",
}
HERMES = {"arguments broken text", "system later", "system after assistant"}
VISION = {
    "part image",
    "part image_url",
    "part video",
    "kwarg add_vision_id=True",
    "kwarg add_vision_id=False",
}
THINKING = {"kwarg enable_thinking=True", "kwarg enable_thinking=False"}
EFFORT = {f"kwarg reasoning_effort={effort}" for effort in ("xhigh", "medium", "low")}
EXTRA = {
    "qwen3": HERMES | THINKING,
    "qwennext": HERMES,
    "qwen35": VISION | THINKING,
    "qwen36": VISION | THINKING,
    "qwen38small": VISION | THINKING | EFFORT,
    "qwen4exp": VISION | THINKING | EFFORT,
}


@pytest.mark.parametrize("name", list(EXTRA))
def test_four_hundred_conversations_contain_every_feature_several_times(name: str) -> None:
    counts = coverage(generate(get_family(name), 400, seed=20261129))
    expected = FEATURES | EXTRA[name]
    assert {feature: counts.get(feature, 0) for feature in expected if counts.get(feature, 0) < 5} == {}


@pytest.mark.parametrize("name", ["qwen35", "qwen36", "qwen38small", "qwen4exp"])
def test_a_family_that_refuses_a_late_system_message_gets_none(name: str) -> None:
    assert "system later" not in coverage(generate(get_family(name), 400, seed=3))


def test_a_conversation_can_be_made_again_by_its_index() -> None:
    family = get_family("qwen36")
    for made in generate(family, 20, seed=9):
        assert conversation(family, made.seed, made.index) == made


def test_another_seed_gives_other_conversations() -> None:
    family = get_family("qwen3")
    assert list(generate(family, 10, seed=1)) != list(generate(family, 10, seed=2))


@given(st.sampled_from(sorted(BUILT_IN)), st.integers(), st.integers(min_value=0))
def test_any_seed_gives_a_conversation_that_the_family_takes(name: str, seed: int, index: int) -> None:
    family = get_family(name)
    made = conversation(family, seed, index)
    assert normalise_messages(family, made.messages)
    normalise_tools(made.tools)
    _assert_realistic_order(family, made)


def _assert_realistic_order(family: Family, made: Conversation) -> None:
    roles = [str(message["role"]) for message in made.messages]
    later_system = "system" in roles[1:]
    assert not later_system or Role.SYSTEM in family.append_roles
    for before, after in pairwise(made.messages):
        if after["role"] == "tool":
            assert before["role"] == "tool" or before.get("tool_calls")
    messages: Sequence[Any] = made.messages
    calls = sum(len(message.get("tool_calls", ())) for message in messages)
    assert roles.count("tool") == calls


def test_coverage_counts_conversations_and_not_occurrences() -> None:
    user = {"role": "user", "content": "天"}
    made = Conversation(messages=(user, user, user), tools=(), kwargs={"k": 1}, seed=0, index=0)
    assert coverage([made, made]) == {
        "tools empty": 2,
        "kwarg k=1": 2,
        "system absent": 2,
        "user after user": 2,
        "content text": 2,
        "text cjk": 2,
    }
