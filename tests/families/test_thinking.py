"""Thinking and reasoning effort under whatever name a client uses."""

from __future__ import annotations

from typing import Any

import pytest

from titocli.errors import ConflictingKwarg, UnsupportedRequest
from titocli.families.effort import Effort
from titocli.families.kwargs import with_reasoning_effort
from titocli.families.registry import get_family
from titocli.jsonvalue import JsonValue


def own(family: str, effort: Effort = None, **kwargs: Any) -> dict[str, Any]:
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


def test_an_effort_that_is_null_is_not_given() -> None:
    assert own("qwen38small", reasoning_effort=None) == {}
    assert own("qwen38small", effort="low", reasoning_effort=None) == {"reasoning_effort": "low"}


@pytest.mark.parametrize(
    ("family", "effort", "read"),
    [
        ("inkling", 0.5, 0.5),
        ("inkling", "0.5", 0.5),
        ("inkling", 0, 0.0),
        ("inkling", "high", "high"),
        ("deepseekv41", 0.99, 0.99),
        ("deepseekv41", "70", 70),
        ("deepseekv41", 100, 100),
    ],
)
def test_an_effort_may_be_a_number_where_the_family_takes_numbers(
    family: str, effort: Any, read: JsonValue
) -> None:
    for given in ({"effort": effort}, {"reasoning_effort": effort}):
        resolved = own(family, **given)["reasoning_effort"]
        assert (resolved, type(resolved)) == (read, type(read))
    assert own(family, effort, reasoning_effort=effort) == {"reasoning_effort": read}


@pytest.mark.parametrize(
    ("family", "effort"),
    [
        ("inkling", 1.5),
        ("inkling", "-0.1"),
        ("inkling", True),
        ("inkling", "[0.5]"),
        ("inkling", float("nan")),
        ("deepseekv41", 1.0),
        ("deepseekv41", 70.5),
        ("deepseekv41", 101),
        ("deepseekv4", 0.5),
        ("qwen38small", 1),
    ],
)
def test_a_number_that_the_family_does_not_take_is_refused(family: str, effort: Any) -> None:
    with pytest.raises(UnsupportedRequest) as refused:
        own(family, reasoning_effort=effort)
    assert str(refused.value.hint).startswith("it has: ")


def test_the_ranges_of_numbers_are_told() -> None:
    with pytest.raises(UnsupportedRequest) as refused:
        own("deepseekv41", effort="huge")
    hint = "it has: high, low, xhigh, max, a number from 0 to 0.99, a whole number from 1 to 100"
    assert refused.value.hint == hint
