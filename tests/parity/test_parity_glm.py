"""The GLM templates print, byte for byte, what the checkpoints' own print under transformers.

GLM-5.1's own is compared with the declared edit; without it the test shows why the edit is needed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.assets import native_template
from tests.generated_count import generated_count
from tests.parity.contract_parity import Comparison, kwarg_combinations, values_not_generated
from tests.parity.natives import NATIVES, native_of
from tests.parity.oracle import Oracle
from titocli.errors import TemplateRaised
from titocli.families.family import Family
from titocli.families.glm import NULL_CONTENT, STEADY_EMPTY_BLOCK
from titocli.families.registry import get_family
from titocli.families.renderer import family_renderer
from titocli.jsonvalue import JsonObject, JsonValue, Message, Tool
from titocli.verify.conversations import generate

pytestmark = pytest.mark.assets

SEED = 20261129

CONTRACTS = [get_family(*named) for named in NATIVES if named[0] == "glm47"]

USER: Message = {"role": "user", "content": "Hello"}
F: Tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


def calls(*ids: JsonValue) -> Message:
    made: list[JsonObject] = [{"id": each, "function": {"name": "f", "arguments": {}}} for each in ids]
    return {"role": "assistant", "content": "", "tool_calls": made}


def result(content: JsonValue, **fields: JsonValue) -> Message:
    return {"role": "tool", "content": content, **fields}


def _name(family: Family) -> str:
    return f"{family.name}-{family.variant}"


@pytest.fixture(params=CONTRACTS, ids=_name)
def family(request: pytest.FixtureRequest) -> Family:
    family: Family = request.param
    return family


def _native(family: Family) -> Path:
    return native_template(native_of(family).template)


@pytest.fixture
def steady_native(family: Family, tmp_path: Path) -> Path:
    """The checkpoint's own template with the declared edits."""
    return native_of(family).written_to(tmp_path)


def test_with_the_familys_kwargs_the_text_is_the_checkpoints_own(
    oracle: Oracle, family: Family, steady_native: Path
) -> None:
    conversations = generate(family, generated_count(), SEED)
    comparison = Comparison(oracle, family, steady_native)
    assert comparison.check_all(conversations, family.fixed_kwargs) == generated_count()


@pytest.mark.parametrize("clear_thinking", [{}, {"clear_thinking": True}], ids=["absent", "true"])
def test_history_is_cleared_as_the_checkpoint_clears_it(
    oracle: Oracle, family: Family, clear_thinking: dict[str, JsonValue]
) -> None:
    comparison = Comparison(oracle, family, _native(family))
    assert comparison.check_all(generate(family, 200, SEED), clear_thinking) == 200


def test_every_combination_of_kwargs_prints_the_same(
    oracle: Oracle, family: Family, steady_native: Path
) -> None:
    combinations = kwarg_combinations(family)
    assert len(combinations) == {"5.2": 9}.get(str(family.variant), 3)
    for kwargs in combinations:
        Comparison(oracle, family, steady_native).check_all(generate(family, 20, SEED), kwargs)


def test_every_finite_kwarg_value_is_generated(family: Family) -> None:
    assert values_not_generated(family, generate(family, 200, SEED)) == set()


def test_the_declared_deviations_are_the_ones_that_are_needed(family: Family) -> None:
    expected = {NULL_CONTENT} | ({STEADY_EMPTY_BLOCK} if native_of(family).edits else set())
    assert set(family.deviations) == expected


def test_null_content_is_empty_text_where_the_checkpoint_prints_none(oracle: Oracle, family: Family) -> None:
    messages: list[Message] = [USER, {"role": "assistant", "content": None}]
    kwargs = family.fixed_kwargs
    native = oracle.render(_native(family), messages, kwargs=kwargs, generation_prompt=False).text
    ours = family_renderer(family).text(messages, kwargs=kwargs, generation_prompt=False)
    assert native == ours + "None"


def test_the_glm51_checkpoint_rewrites_a_turn_without_reasoning(oracle: Oracle) -> None:
    messages: list[Message] = [USER, {"role": "assistant", "content": "a"}, USER]
    native, kwargs = native_template("glm5.1"), {"clear_thinking": False}
    before = oracle.render(native, messages[:2], kwargs=kwargs, generation_prompt=False).text
    after = oracle.render(native, messages, kwargs=kwargs, generation_prompt=False).text
    assert before == "[gMASK]<sop><|user|>Hello<|assistant|><think></think>a"
    assert after == "[gMASK]<sop><|user|>Hello<|assistant|></think>a<|user|>Hello"


@pytest.mark.parametrize("ids", [("1", "2"), ("2", "1"), ("1",), ("1", "1"), ("1", "9"), ("1", None), (2, 1)])
@pytest.mark.parametrize("asked", [("1", "2"), ("1", "1"), ("1", None), (), (1, 2), ("2", "1", "3")])
def test_results_stand_in_their_own_order_whatever_their_ids(
    oracle: Oracle,
    family: Family,
    steady_native: Path,
    ids: tuple[JsonValue, ...],
    asked: tuple[JsonValue, ...],
) -> None:
    run = [result(f"r{number}", tool_call_id=each) for number, each in enumerate(ids)]
    comparison = Comparison(oracle, family, steady_native)
    text = comparison.check([USER, calls(*asked), *run, USER], kwargs=family.fixed_kwargs)
    assert text.count("<|observation|>") == 1
    if len(ids) > 1:
        assert text.index("r0") < text.index("r1")


#: What no template's author thinks of, in every GLM.
RARE_SHAPES: list[list[Message]] = [
    [USER, result("1"), result("2"), USER],
    [USER, result("1", id="a"), result("2", id="b")],
    [USER, calls("a", "b"), result("1", id="b"), result("2", id="a")],
    [USER, {"role": "assistant", "content": "x", "tool_calls": []}, result("1", tool_call_id="a")],
    [USER, {"role": "assistant", "content": "x", "tool_calls": [{"name": "f", "arguments": {"k": "v"}}]}],
    [USER, calls("a"), result("1", tool_call_id="a"), calls("b"), result("2", tool_call_id="b")],
    [{"role": "system", "content": ""}, USER, {"role": "system", "content": " late "}],
]


@pytest.mark.parametrize("messages", [*RARE_SHAPES, [{"role": "developer", "content": "x"}, USER]])
@pytest.mark.parametrize("tools", [None, [F], [F["function"]]], ids=["none", "wrapped", "bare"])
def test_rare_shapes_print_the_same(
    oracle: Oracle, family: Family, messages: list[Message], tools: list[Tool] | None
) -> None:
    if family.variant in {"4.7", "5"} and tools == [F["function"]]:
        tools = None  # a bare tool is wrapped here, and those two print the wrapper
    comparison = Comparison(oracle, family, _native(family))
    assert comparison.check(messages, tools=tools, kwargs=family.fixed_kwargs).startswith("[gMASK]<sop>")


@pytest.mark.parametrize("fields", [{"strict": True}, {"defer_loading": True}, {"defer_loading": False}])
def test_keys_that_a_server_reads_print_the_same(
    oracle: Oracle, family: Family, fields: dict[str, JsonValue]
) -> None:
    tools: list[Tool] = [F, {"type": "function", "function": {"name": "g", **fields, "parameters": {}}}]
    text = Comparison(oracle, family, _native(family)).check([USER], tools=tools, kwargs=family.fixed_kwargs)
    assert any(name in text for name in fields) == (family.variant in {"4.7", "5"})


def test_media_of_every_type_print_the_same_in_every_role(oracle: Oracle, family: Family) -> None:
    parts = [{"type": "text", "text": "see"}, *({"type": each} for each in family.content_parts[1:])]
    messages: list[Message] = [
        {"role": "system", "content": parts},
        {"role": "user", "content": parts},
        {**calls("a"), "content": parts},
        result(parts, tool_call_id="a"),
    ]
    text = Comparison(oracle, family, _native(family)).check(messages, kwargs=family.fixed_kwargs)
    assert text.count("<reminder>") == (28 if family.variant == "5.2" else 0)


def test_arguments_that_are_no_object_are_refused_by_both(oracle: Oracle, family: Family) -> None:
    call = {"function": {"name": "f", "arguments": '{"a"'}}
    messages: list[Message] = [USER, {"role": "assistant", "content": "", "tool_calls": [call]}]
    native = oracle.render(_native(family), messages, kwargs=family.fixed_kwargs, generation_prompt=True)
    assert native.text is None
    with pytest.raises(TemplateRaised):
        family_renderer(family).text(messages, kwargs=family.fixed_kwargs, generation_prompt=True)
