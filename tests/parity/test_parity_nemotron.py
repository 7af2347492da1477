"""The Nemotron 3 templates print, byte for byte, what the checkpoints' own print under transformers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.assets import native_template
from tests.generated_count import generated_count
from tests.parity.contract_parity import Comparison, kwarg_combinations, values_not_generated
from tests.parity.oracle import Oracle
from titocli.families.family import Family
from titocli.families.registry import get_family
from titocli.jsonvalue import JsonObject, JsonValue, Message, Tool
from titocli.verify.conversations import generate

pytestmark = pytest.mark.assets

SEED = 20261129

USER: Message = {"role": "user", "content": " Hello "}
CALL: JsonObject = {
    "id": "a",
    "function": {"name": "f", "arguments": {"n": None, "b": True, "l": [1, "<"], "s": " x "}},
}


@pytest.fixture(params=["nano", "super", "ultra"])
def family(request: pytest.FixtureRequest) -> Family:
    return get_family("nemotron3", request.param)


@pytest.fixture
def native(family: Family) -> Path:
    return native_template(f"nemotron3_{family.variant}")


def test_with_the_familys_kwargs_the_text_is_the_checkpoints_own(
    oracle: Oracle, family: Family, native: Path
) -> None:
    conversations = generate(family, generated_count(), SEED)
    comparison = Comparison(oracle, family, native)
    assert comparison.check_all(conversations, family.fixed_kwargs) == generated_count()


@pytest.mark.parametrize("truncate", [{}, {"truncate_history_thinking": True}], ids=["absent", "true"])
def test_history_is_cut_as_the_checkpoint_cuts_it(
    oracle: Oracle, family: Family, native: Path, truncate: dict[str, JsonValue]
) -> None:
    assert Comparison(oracle, family, native).check_all(generate(family, 300, SEED), truncate) == 300


@pytest.mark.parametrize("effort", ["low_effort", "medium_effort"])
@pytest.mark.parametrize("value", [True, False])
def test_the_hint_on_effort_is_the_checkpoints_own(
    oracle: Oracle, family: Family, native: Path, effort: str, value: bool
) -> None:
    comparison = Comparison(oracle, family, native)
    comparison.check_all(generate(family, 50, SEED), {**family.fixed_kwargs, effort: value})
    text = comparison.check([USER, USER], kwargs={**family.fixed_kwargs, effort: value})
    printed = value and effort == {"super": "low_effort", "ultra": "medium_effort"}.get(str(family.variant))
    assert text.count("{reasoning effort: ") == printed


def test_every_combination_of_kwargs_prints_the_same(oracle: Oracle, family: Family, native: Path) -> None:
    combinations = kwarg_combinations(family)
    assert len(combinations) == 3
    for kwargs in combinations:
        Comparison(oracle, family, native).check_all(generate(family, 20, SEED), kwargs)


def test_every_finite_kwarg_value_is_generated(family: Family) -> None:
    assert values_not_generated(family, generate(family, 200, SEED)) == set()


def test_nothing_deviates_with_the_familys_kwargs(family: Family) -> None:
    assert family.deviations == ()


def _assistant(content: JsonValue, **fields: JsonValue) -> Message:
    return {"role": "assistant", "content": content, **fields}


@pytest.mark.parametrize(
    "messages",
    [
        # After the system message a result has no opener.
        [{"role": "system", "content": ""}, {"role": "tool", "content": "1"}, USER],
        [USER, {"role": "tool", "content": "1"}, {"role": "tool", "content": "2"}, USER],
        [USER, {"role": "system", "content": " late "}, USER],
        [USER, _assistant(None, tool_calls=[CALL])],
        [USER, _assistant("", reasoning_content=" ", tool_calls=[CALL, CALL]), USER],
        [USER, _assistant("x", tool_calls=[{"name": "f", "arguments": ""}])],
        [USER, _assistant(" <think> open", tool_calls=[CALL]), USER],
        [USER, _assistant(" <think> open"), USER],
        [USER, _assistant("shut </think> x ", tool_calls=[CALL]), USER],
        [USER, _assistant("shut </think> x "), USER],
        [USER, _assistant("<think>a</think> <think>b</think> c ", reasoning_content="r\n"), USER],
    ],
)
@pytest.mark.parametrize("truncate", [False, True])
def test_rare_shapes_print_the_same(
    oracle: Oracle, family: Family, native: Path, messages: list[Message], truncate: bool
) -> None:
    kwargs = {"truncate_history_thinking": truncate}
    assert Comparison(oracle, family, native).check(messages, kwargs=kwargs).startswith("<|im_start|>")


@pytest.mark.parametrize(
    "function",
    [
        {"name": "f"},
        {"name": "f", "description": None, "parameters": None},
        {"name": "f", "description": " d\n", "parameters": {"type": "object", "required": []}},
        {"name": "f", "parameters": {"properties": {}, "additionalProperties": False, "$defs": {"a": [1]}}},
        {
            "name": "f",
            "parameters": {"properties": {"p": {}, "q": True, "r": {"type": ["null"], "enum": None}}},
        },
        {"name": "f", "parameters": {"properties": {"items": {"items": {"type": "string"}, "minimum": 1.5}}}},
        {"name": "f", "strict": True, "defer_loading": {"a": 1}, "examples": ["<a>"], "type": "function"},
    ],
)
@pytest.mark.parametrize("system", ["", "Be brief.", None])
def test_tool_schemas_print_the_same(
    oracle: Oracle, family: Family, native: Path, function: dict[str, JsonValue], system: str | None
) -> None:
    head: list[Message] = [] if system is None else [{"role": "system", "content": system}]
    tools: list[Tool] = [{"type": "function", "function": function}]
    comparison = Comparison(oracle, family, native)
    text = comparison.check([*head, USER], tools=tools, kwargs=family.fixed_kwargs)
    assert "<name>f</name>" in text
