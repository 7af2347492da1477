"""The Kimi templates print, byte for byte, what the checkpoints' own print under transformers.

The tokenizer class of the checkpoints hands the tools to the template as TypeScript text.  A copy of its code in
tinker-cookbook makes that text for the checkpoints' templates here; titocli makes its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.assets import native_template
from tests.generated_count import generated_count
from tests.parity.contract_parity import Comparison, kwarg_combinations, values_not_generated
from tests.parity.kimi_declaration import declared
from tests.parity.native_edits import KEEPS_THINKING, edited
from tests.parity.oracle import Oracle
from titocli.errors import InvalidMessages, TemplateRaised
from titocli.families.family import Family
from titocli.families.messages import normalise_messages, normalise_tools
from titocli.families.registry import get_family
from titocli.families.renderer import family_renderer
from titocli.jsonvalue import JsonObject, JsonValue, Message, Tool
from titocli.tokens.byte_level import byte_level_tokenizer
from titocli.verify.append_only import find_counterexample
from titocli.verify.conversations import Conversation, generate

pytestmark = pytest.mark.assets

SEED = 20261129
NATIVES = {"kimi25": "kimi_k2.5", "kimi26": "kimi_k2.6"}
JSON_FORM: Mapping[str, JsonValue] = {"tools_ts_str": ""}

USER: Message = {"role": "user", "content": "Hello"}
CALL: JsonObject = {
    "id": "functions.f:0",
    "function": {"name": "f", "arguments": {"items": [1], "k": None, "s": "é<"}},
}
F: Tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}


def _assistant(content: JsonValue = "", **fields: JsonValue) -> Message:
    return {"role": "assistant", "content": content, **fields}


@pytest.fixture(params=list(NATIVES))
def family(request: pytest.FixtureRequest) -> Family:
    return get_family(request.param)


@pytest.fixture
def native(family: Family) -> Path:
    return native_template(NATIVES[family.name])


@pytest.fixture
def keeping_native(family: Family, native: Path, tmp_path: Path) -> Path:
    """The checkpoint's own template with the declared edits."""
    path = tmp_path / "native.jinja"
    path.write_bytes(edited(native.read_bytes().decode(), KEEPS_THINKING.get(family.name, ())).encode())
    return path


def _served(
    oracle: Oracle, native: Path, family: Family, conversation: Conversation, kwargs: Mapping[str, JsonValue]
) -> str | None:
    """What the checkpoint's tokenizer class makes of a conversation."""
    tools = normalise_tools(conversation.tools)
    text = {"tools_ts_str": declared(tools)} if tools else {}
    return oracle.render(
        native,
        normalise_messages(family, conversation.messages),
        tools=conversation.tools,
        kwargs={**conversation.kwargs, **kwargs, **text},
        generation_prompt=conversation.index % 2 == 0,
    ).text


def test_with_the_familys_kwargs_the_text_is_the_one_that_is_served(
    oracle: Oracle, family: Family, keeping_native: Path
) -> None:
    renderer = family_renderer(family)
    for conversation in generate(family, generated_count(), SEED):
        ours = renderer.text(
            normalise_messages(family, conversation.messages),
            tools=normalise_tools(conversation.tools),
            kwargs={**conversation.kwargs, **family.fixed_kwargs},
            generation_prompt=conversation.index % 2 == 0,
        )
        assert ours == _served(oracle, keeping_native, family, conversation, family.fixed_kwargs)


@pytest.mark.parametrize("preserve_thinking", [{}, {"preserve_thinking": False}], ids=["absent", "false"])
def test_history_is_cut_as_the_checkpoint_cuts_it(
    oracle: Oracle, family: Family, native: Path, preserve_thinking: dict[str, JsonValue]
) -> None:
    kwargs = {**JSON_FORM, **preserve_thinking}
    assert Comparison(oracle, family, native).check_all(generate(family, 300, SEED), kwargs) == 300


def test_every_combination_of_kwargs_prints_the_same(
    oracle: Oracle, family: Family, keeping_native: Path
) -> None:
    combinations = kwarg_combinations(family)
    assert len(combinations) == 3
    for kwargs in combinations:
        conversations = generate(family, 30, SEED)
        Comparison(oracle, family, keeping_native).check_all(conversations, {**kwargs, **JSON_FORM})


def test_every_finite_kwarg_value_is_generated(family: Family) -> None:
    assert values_not_generated(family, generate(family, 200, SEED)) == set()


@pytest.mark.parametrize(
    "messages",
    [
        [{**USER, "name": "alice"}, _assistant("a", name="bob"), {"role": "system", "content": "s"}],
        [{"role": "system", "content": "s", "name": "rules"}, USER],
        [{"role": "system", "content": ""}, USER],
        [USER, _assistant("a", tool_calls=[CALL, {**CALL, "id": "call_b"}], reasoning_content=" r\n")],
        [
            USER,
            _assistant(tool_calls=[CALL]),
            {"role": "tool", "content": "1", "tool_call_id": "functions.f:0", "name": "f"},
            {"role": "tool", "content": "", "tool_call_id": "other"},
        ],
        [USER, _assistant(tool_calls=[{**CALL, "function": {"name": "f", "arguments": "no JSON"}}])],
        [USER, _assistant("x</think>y")],
        [
            {
                "role": "user",
                "content": [
                    {"type": "image"},
                    {"type": "text", "text": " t\n"},
                    {"type": "video_url"},
                    {"type": "image_url"},
                    {"type": "video"},
                ],
            },
        ],
    ],
)
@pytest.mark.parametrize("tools", [None, [F]])
@pytest.mark.parametrize("thinking", [{}, {"thinking": False}])
def test_rare_shapes_print_the_same(
    oracle: Oracle,
    family: Family,
    keeping_native: Path,
    messages: list[Message],
    tools: list[Tool] | None,
    thinking: dict[str, JsonValue],
) -> None:
    kwargs = {**family.fixed_kwargs, **JSON_FORM, **thinking}
    text = Comparison(oracle, family, keeping_native).check(messages, tools=tools, kwargs=kwargs)
    assert "<|im_assistant|>" in text


def test_thinking_off_empties_the_history_of_k25_and_the_prompt_alone_of_k26(
    oracle: Oracle, family: Family, keeping_native: Path
) -> None:
    kwargs = {**family.fixed_kwargs, "thinking": False}
    comparison = Comparison(oracle, family, keeping_native)
    text = comparison.check([USER, _assistant("a", reasoning_content="r"), USER], kwargs=kwargs)
    assert ("<think>r</think>a" in text) == (family.name == "kimi26")
    assert text.endswith("<|im_assistant|>assistant<|im_middle|><think></think>")
    assert ("thinking" in family.pinned_kwargs) == (family.name == "kimi25")


def test_null_reasoning_is_none_where_the_checkpoint_prints_the_word(
    oracle: Oracle, family: Family, keeping_native: Path
) -> None:
    messages = [USER, _assistant("a", reasoning_content=None)]
    kwargs = family.fixed_kwargs
    native = oracle.render(keeping_native, messages, kwargs=kwargs, generation_prompt=False).text
    assert str(native).endswith("<think>None</think>a<|im_end|>")
    for given in (messages, normalise_messages(family, messages)):
        ours = family_renderer(family).text(given, kwargs=kwargs, generation_prompt=False)
        assert ours.endswith("<think></think>a<|im_end|>")


def test_of_two_reasonings_the_one_that_counts_for_every_family_is_printed(oracle: Oracle) -> None:
    family = get_family("kimi26")
    messages = [USER, _assistant("a", reasoning_content="ours", reasoning="theirs")]
    kwargs = family.fixed_kwargs
    native = oracle.render(
        native_template("kimi_k2.6"), messages, kwargs=kwargs, generation_prompt=False
    ).text
    assert "<think>theirs</think>" in str(native)
    normal = normalise_messages(family, messages)
    ours = family_renderer(family).text(normal, kwargs=kwargs, generation_prompt=False)
    assert "<think>ours</think>" in ours


def test_ids_that_a_client_made_up_are_printed_as_they_came(
    oracle: Oracle, family: Family, keeping_native: Path
) -> None:
    made_up: list[JsonObject] = [{**CALL, "id": "call_a"}, {**CALL, "id": "toolu_01"}]
    results: list[Message] = [
        {"role": "tool", "tool_call_id": each["id"], "content": "r"} for each in made_up
    ]
    comparison = Comparison(oracle, family, keeping_native)
    text = comparison.check([USER, _assistant(tool_calls=made_up), *results], kwargs=family.fixed_kwargs)
    assert "<|tool_call_begin|>call_a<|tool_call_argument_begin|>" in text
    assert "<|im_system|>tool<|im_middle|>## Return of toolu_01\nr<|im_end|>" in text


def test_a_call_or_a_result_without_an_id_is_refused_where_the_checkpoint_prints_nothing(
    oracle: Oracle, family: Family, native: Path
) -> None:
    nameless = [USER, _assistant(tool_calls=[{"function": CALL["function"]}])]
    unasked = [USER, _assistant(tool_calls=[CALL]), {"role": "tool", "content": "1"}]
    kwargs = family.fixed_kwargs
    renderer = family_renderer(family)
    printed = "<|tool_call_begin|><|tool_call_argument_begin|>", "## Return of \n1"
    for messages, empty in zip((nameless, unasked), printed, strict=True):
        text = oracle.render(native, messages, kwargs=kwargs, generation_prompt=True).text
        assert empty in str(text)
        with pytest.raises(TemplateRaised, match=r"needs an id|needs a tool_call_id"):
            renderer.text(messages, kwargs=kwargs, generation_prompt=True)
    with pytest.raises(InvalidMessages, match="without an id"):
        normalise_messages(family, nameless)


def test_no_generated_conversation_is_rewritten(family: Family) -> None:
    renderer = family_renderer(family)
    for conversation in generate(family, generated_count(), SEED):
        assert find_counterexample(renderer, conversation) is None


def test_the_k25_checkpoint_rewrites_the_last_answer(oracle: Oracle) -> None:
    """Why reasoning is kept: even without a later message the answer loses its own."""
    messages = [USER, _assistant("a", reasoning_content="r")]
    text = oracle.render(native_template("kimi_k2.5"), messages, generation_prompt=False).text
    assert str(text).endswith("<think></think>a<|im_end|>")


def test_control_tokens_in_a_tool_stay_text_and_the_declaration_stays_typescript(family: Family) -> None:
    tokenizer = byte_level_tokenizer([*family.required_tokens, "[EOS]"], special={"<|im_end|>"})
    function: Any = F["function"]
    described = {**function, "description": "ends with <|im_end|>"}
    tools = normalise_tools([{"type": "function", "function": described}])
    renderer = family_renderer(family, tokenizer)
    arguments: dict[str, Any] = {"tools": tools, "kwargs": family.fixed_kwargs, "generation_prompt": True}
    marked = renderer.ids(renderer.marked_text([USER], **arguments))
    plain = renderer.text([USER], **arguments)
    assert tokenizer.decode(marked) == plain
    assert "// ends with <|im_end|>\ntype f = (_: {}) => any;" in plain
    end = tokenizer.token_id("<|im_end|>")
    assert end is not None
    assert list(marked).count(end) == plain.count("<|im_end|>") - 1


def test_the_declared_deviations_are_the_ones_that_are_needed(family: Family) -> None:
    whats = [deviation.what for deviation in family.deviations]
    assert ("every assistant turn keeps its reasoning" in whats) == (family.name in KEEPS_THINKING)
    assert "null reasoning is no reasoning" in whats
    assert "a tool call or a tool result without an id is refused" in whats
    both = "where reasoning and reasoning_content differ, reasoning_content is printed"
    assert (both in whats) == (family.name == "kimi26")
    assert len(whats) == 3
