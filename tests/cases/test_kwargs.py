"""Reported cases about kwargs: a28, a29, b03, b17."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.rendering import LABELS, NAMED, assistant, text_of, user
from titocli.errors import UnsupportedRequest

QWEN38_HEAD = {
    "low": "<|im_start|>system\nReasoning effort is set to low. ",
    "medium": "<|im_start|>user\nu<|im_end|>\n",
    None: "<|im_start|>system\nReasoning effort is set to xhigh. ",
}
INKLING_LEVEL = {"none": "0", "low": "0.2", None: "0.9", "high": "0.9", "max": "0.99", 0.5: "0.5"}


@pytest.mark.parametrize("effort", list(QWEN38_HEAD))
def test_a28_qwen38_knows_three_efforts_and_null_is_none_given(effort: Any) -> None:
    assert text_of("qwen38small", [user()], reasoning_effort=effort).startswith(QWEN38_HEAD[effort])


@pytest.mark.parametrize("effort", ["none", "minimal", "high", "max", "0.5"])
def test_a28_qwen38_refuses_the_others_and_names_its_own(effort: str) -> None:
    with pytest.raises(UnsupportedRequest) as refused:
        text_of("qwen38small", [user()], reasoning_effort=effort)

    assert refused.value.hint == "it has: xhigh, medium, low"


@pytest.mark.parametrize("effort", list(INKLING_LEVEL))
def test_a28_inkling_prints_the_level(effort: Any) -> None:
    level = f"Thinking effort level: {INKLING_LEVEL[effort]}<|end_message|>"

    assert level in text_of(NAMED["inkling"], [user()], reasoning_effort=effort)


#: How the generation prompt ends when thinking is off.
OFF = {
    "qwen3": "<think>\n\n</think>\n\n",
    "qwen35": "<think>\n\n</think>\n\n",
    "qwen38small": "<think>\n\n</think>\n\n",
    "glm47": "</think>",
    "nemotron3": "<think></think>",
    "kimi25": "<think></think>",
    "kimi26": "<think></think>",
    "deepseekv32": "</think>",
    "deepseekv4": "</think>",
}
NAMES: list[dict[str, Any]] = [{"enable_thinking": False}, {"thinking": False}, {"thinking_mode": "chat"}]


@pytest.mark.parametrize("family", [family for family in OFF if family in NAMED])
@pytest.mark.parametrize("off", NAMES)
def test_a29_thinking_is_turned_off_under_every_name(family: str, off: dict[str, Any]) -> None:
    assert text_of(NAMED[family], [user()], prompt=True, **off).endswith(OFF[family])


@pytest.mark.parametrize("family", ["qwennext", "minimax_m25", "minimax_m27"])
def test_a29_a_family_that_cannot_says_so(family: str) -> None:
    with pytest.raises(UnsupportedRequest):
        text_of(NAMED[family], [user()], enable_thinking=False)


@pytest.mark.parametrize("family", ["qwen3", "qwen35", "qwen36", "qwen38small", "nemotron3", "kimi25"])
def test_b03_with_thinking_off_a_turn_is_stored_as_it_was_opened(family: str) -> None:
    first = text_of(NAMED[family], [user("q")], prompt=True, enable_thinking=False)
    second = text_of(
        NAMED[family], [user("q"), assistant("a"), user("v")], prompt=True, enable_thinking=False
    )

    assert second.startswith(first)


@pytest.mark.parametrize("label", [NAMED["qwen36"], NAMED["glm47"], NAMED["nemotron3"]])
def test_b17_where_thinking_shapes_only_the_prompt_it_may_change(label: str) -> None:
    turn = [user("q"), assistant("a", reasoning_content="R")]

    on = text_of(label, turn)
    assert text_of(label, [*turn, user("v")], prompt=True, enable_thinking=False).startswith(on)


@pytest.mark.parametrize("label", LABELS)
def test_an_unknown_kwarg_changes_nothing(label: str) -> None:
    assert text_of(label, [user()], no_such_kwarg=True) == text_of(label, [user()])
