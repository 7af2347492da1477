"""GLM-5.3 and GLM-5.3-Flash print, byte for byte, what SGLang's port of their templates prints."""

from __future__ import annotations

import pytest

from tests.generated_count import generated_count
from tests.parity.contract_parity import Comparison, kwarg_combinations
from tests.parity.glm53_port import Glm53Port
from tests.parity.test_parity_glm import RARE_SHAPES, USER, F, calls, result
from titocli.errors import TemplateRaised
from titocli.families.family import Family
from titocli.families.registry import get_family
from titocli.families.renderer import family_renderer
from titocli.jsonvalue import JsonValue, Message, Tool
from titocli.verify.conversations import generate

pytestmark = pytest.mark.assets

SEED = 20261129


@pytest.fixture(params=["5.3", "5.3-flash"])
def family(request: pytest.FixtureRequest) -> Family:
    return get_family("glm53", request.param)


@pytest.fixture
def comparison(family: Family) -> Comparison:
    return Comparison(Glm53Port(str(family.variant)), family)


def test_with_the_familys_kwargs_the_text_is_the_checkpoints_own(
    family: Family, comparison: Comparison
) -> None:
    conversations = generate(family, generated_count(), SEED)
    assert comparison.check_all(conversations, family.fixed_kwargs) == generated_count()


def test_history_is_cleared_as_the_checkpoint_clears_it(family: Family, comparison: Comparison) -> None:
    media = {"media": family.fixed_kwargs["media"]}
    for kwargs in ({**media, "clear_thinking": True}, media):
        assert comparison.check_all(generate(family, 200, SEED), kwargs) == 200


def test_every_combination_of_kwargs_prints_the_same(family: Family, comparison: Comparison) -> None:
    combinations = kwarg_combinations(family)
    assert [each.get("reasoning_effort") for each in combinations] == [None, "max", "low", "high"]
    for kwargs in combinations:
        comparison.check_all(generate(family, 20, SEED), kwargs)


def test_null_content_is_empty_text_in_both(family: Family, comparison: Comparison) -> None:
    text = comparison.check([USER, {"role": "assistant", "content": None}], kwargs=family.fixed_kwargs)
    assert text.endswith("<|user|>Hello<|assistant|><think></think><|assistant|><think>")


@pytest.mark.parametrize("ids", [("1", "2"), ("2", "1"), ("1",), ("1", "1"), ("1", "9"), ("1", None), (2, 1)])
@pytest.mark.parametrize("asked", [("1", "2"), ("1", "1"), ("1", None), (), (1, 2), ("2", "1", "3")])
def test_results_stand_in_the_order_of_the_calls_where_their_ids_are_sound(
    family: Family, comparison: Comparison, ids: tuple[JsonValue, ...], asked: tuple[JsonValue, ...]
) -> None:
    run = [result(f"r{number}", tool_call_id=each) for number, each in enumerate(ids)]
    text = comparison.check([USER, calls(*asked), *run, USER], kwargs=family.fixed_kwargs)
    assert text.count("<|observation|>") == 1
    if ids == ("2", "1") and asked == ("1", "2"):
        assert text.index("r1") < text.index("r0")


@pytest.mark.parametrize("messages", RARE_SHAPES)
@pytest.mark.parametrize("tools", [None, [F], [F["function"]]], ids=["none", "wrapped", "bare"])
def test_rare_shapes_print_the_same(
    family: Family, comparison: Comparison, messages: list[Message], tools: list[Tool] | None
) -> None:
    text = comparison.check(messages, tools=tools, kwargs=family.fixed_kwargs)
    assert text.startswith("[gMASK]<sop>")


@pytest.mark.parametrize("fields", [{"strict": True}, {"defer_loading": True}, {"defer_loading": False}])
def test_keys_that_a_server_reads_are_left_out_by_both(
    family: Family, comparison: Comparison, fields: dict[str, JsonValue]
) -> None:
    tools: list[Tool] = [F, {"type": "function", "function": {"name": "g", **fields, "parameters": {}}}]
    text = comparison.check([USER], tools=tools, kwargs=family.fixed_kwargs)
    assert not any(name in text for name in fields)


def test_media_of_every_type_print_the_same_in_every_role(family: Family, comparison: Comparison) -> None:
    parts = [{"type": "text", "text": "see"}, *({"type": each} for each in family.content_parts[1:])]
    messages: list[Message] = [
        {"role": "system", "content": parts},
        {"role": "user", "content": parts},
        {**calls("a"), "content": parts},
        result(parts, tool_call_id="a"),
    ]
    text = comparison.check(messages, kwargs=family.fixed_kwargs)
    counts = text.count("<reminder>"), text.count("<|begin_of_")
    assert counts == {"5.3": (28, 0), "5.3-flash": (0, 28)}[str(family.variant)]


def test_arguments_that_are_no_object_are_refused_by_both(family: Family, comparison: Comparison) -> None:
    call = {"function": {"name": "f", "arguments": '{"a"'}}
    messages: list[Message] = [USER, {"role": "assistant", "content": "", "tool_calls": [call]}]
    native = comparison.oracle.render(None, messages, kwargs=family.fixed_kwargs, generation_prompt=True)
    assert native.text is None
    with pytest.raises(TemplateRaised):
        family_renderer(family).text(messages, kwargs=family.fixed_kwargs, generation_prompt=True)
