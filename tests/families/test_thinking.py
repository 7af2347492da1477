"""Thinking and reasoning effort under whatever name a client uses."""

from __future__ import annotations

from typing import Any

import pytest

from titocli.errors import ConflictingKwarg, UnsupportedRequest
from titocli.families.kwargs import with_reasoning_effort
from titocli.families.registry import get_family


def own(family: str, effort: str | None = None, **kwargs: Any) -> dict[str, Any]:
    return with_reasoning_effort(get_family(family), kwargs, effort)


@pytest.mark.parametrize("off", [{"enable_thinking": False}, {"thinking": False}, {"thinking_mode": "chat"}])
@pytest.mark.parametrize(
    ("family", "expected"),
    [
        ("qwen3", {"enable_thinking": False}),
        ("qwen38small", {"enable_thinking": False}),
        ("kimi25", {"thinking": False}),
        ("inkling", {"reasoning_effort": "none"}),
    ],
)
def test_thinking_is_turned_off_under_the_familys_own_name(
    off: dict[str, Any], family: str, expected: dict[str, Any]
) -> None:
    assert own(family, other=1, **off) == {"other": 1, **expected}


@pytest.mark.parametrize("family", ["qwennext", "minimax_m25"])
def test_a_family_that_always_thinks_says_so(family: str) -> None:
    for off in ({"enable_thinking": False}, {"thinking": False}, {"thinking_mode": "chat"}):
        with pytest.raises(UnsupportedRequest, match="cannot turn thinking off"):
            own(family, **off)
    assert own(family, enable_thinking=True) == {}


def test_two_names_must_agree() -> None:
    assert own("qwen3", thinking=True, enable_thinking=True, thinking_mode="thinking") == {
        "enable_thinking": True
    }
    with pytest.raises(ConflictingKwarg):
        own("qwen3", thinking=True, enable_thinking=False)
    with pytest.raises(UnsupportedRequest):
        own("inkling", reasoning_effort="high", enable_thinking=False)
    with pytest.raises(ConflictingKwarg):
        own("inkling", effort="high", enable_thinking=False)


def test_a_family_that_is_not_known_keeps_every_name() -> None:
    assert own("default", thinking=False, thinking_mode="chat") == {
        "thinking": False,
        "thinking_mode": "chat",
    }


def test_thinking_that_is_null_is_not_given() -> None:
    assert own("qwen3", enable_thinking=None) == {}
    assert own("kimi25", enable_thinking=None, thinking=True) == {"thinking": True}


def test_an_effort_that_the_family_does_not_have_is_refused_with_those_it_has() -> None:
    for given in ({"effort": "high"}, {"reasoning_effort": "high"}):
        with pytest.raises(UnsupportedRequest) as refused:
            own("qwen38small", **given)
        assert refused.value.hint == "it has: xhigh, medium, low"
    with pytest.raises(UnsupportedRequest):
        own("inkling", reasoning_effort="0.5")


def test_an_effort_that_is_null_is_not_given_and_a_number_is_for_the_template() -> None:
    assert own("qwen38small", reasoning_effort=None) == {}
    assert own("qwen38small", effort="low", reasoning_effort=None) == {"reasoning_effort": "low"}
    assert own("inkling", reasoning_effort=0.5) == {"reasoning_effort": 0.5}
