"""The MiniMax template prints, byte for byte, what the checkpoints' own print under transformers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.assets import native_template
from tests.generated_count import generated_count
from tests.parity.contract_parity import Comparison, kwarg_combinations, values_not_generated
from tests.parity.native_edits import KEEPS_THINKING, edited
from tests.parity.oracle import Oracle
from titocli.errors import ConflictingKwarg, TemplateRaised
from titocli.families.family import Family
from titocli.families.kwargs import resolve_kwargs
from titocli.families.messages import normalise_messages
from titocli.families.registry import get_family
from titocli.families.renderer import family_renderer
from titocli.jsonvalue import JsonObject, JsonValue, Message, Tool
from titocli.verify.append_only import find_counterexample
from titocli.verify.conversations import generate

pytestmark = pytest.mark.assets

SEED = 20261129
NATIVES = {"minimax_m25": "minimax_m2.5", "minimax_m27": "minimax_m2.7"}

USER: Message = {"role": "user", "content": "Hello"}
SYSTEM: Message = {"role": "system", "content": "late"}
F: Tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
CALL: JsonObject = {
    "id": "a",
    "function": {"name": "f", "arguments": {"items": [1], "keys": None, "s": " x "}},
}


def _assistant(content: str = "", **fields: JsonValue) -> Message:
    return {"role": "assistant", "content": content, **fields}


@pytest.fixture(params=list(NATIVES))
def family(request: pytest.FixtureRequest) -> Family:
    return get_family(request.param)


@pytest.fixture
def native(family: Family) -> Path:
    return native_template(NATIVES[family.name])


@pytest.fixture
def keeping_native(native: Path, tmp_path: Path) -> Path:
    """The checkpoint's own template with the declared edit."""
    path = tmp_path / "native.jinja"
    path.write_bytes(edited(native.read_bytes().decode(), KEEPS_THINKING["minimax"]).encode())
    return path


def test_with_the_familys_kwargs_the_text_is_the_checkpoints_own(
    oracle: Oracle, family: Family, keeping_native: Path
) -> None:
    conversations = generate(family, generated_count(), SEED)
    comparison = Comparison(oracle, family, keeping_native)
    assert comparison.check_all(conversations, family.fixed_kwargs) == generated_count()


@pytest.mark.parametrize("clear_thinking", [{}, {"clear_thinking": True}], ids=["absent", "true"])
def test_history_is_cleared_as_the_checkpoint_clears_it(
    oracle: Oracle, family: Family, native: Path, clear_thinking: dict[str, JsonValue]
) -> None:
    kwargs = {"model_name": family.fixed_kwargs["model_name"], **clear_thinking}
    assert Comparison(oracle, family, native).check_all(generate(family, 300, SEED), kwargs) == 300


def test_every_combination_of_kwargs_is_the_one_that_is_compared(family: Family) -> None:
    assert kwarg_combinations(family) == [dict(family.fixed_kwargs)]
    assert values_not_generated(family, generate(family, 10, SEED)) == set()


def test_the_name_of_the_model_is_the_familys_and_its_whole_sentence_a_path_s_own(
    oracle: Oracle, family: Family, keeping_native: Path
) -> None:
    comparison = Comparison(oracle, family, keeping_native)
    name = {"minimax_m25": "MiniMax-M2.5", "minimax_m27": "MiniMax-M2.7"}[family.name]
    start = "]~!b[]~b]system\n"
    identity = f"You are a helpful assistant. Your name is {name} and is built by MiniMax."
    assert comparison.check([USER], kwargs=family.fixed_kwargs).startswith(f"{start}{identity}[e~[\n")
    given = comparison.check([USER], kwargs={**family.fixed_kwargs, "model_identity": "Call me x."})
    assert given.startswith(f"{start}Call me x.[e~[\n")
    with pytest.raises(ConflictingKwarg):
        resolve_kwargs(family, {"model_name": "other"})
    with pytest.raises(TemplateRaised, match="model_name must be given"):
        family_renderer(family).text([USER], kwargs={"clear_thinking": False}, generation_prompt=True)


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "system", "content": ""}, USER],
        [{"role": "system", "content": "s", "current_date": "2026-11-29", "current_location": "Ulm"}, USER],
        [{"role": "system", "content": "", "current_location": "Ulm"}, USER],
        [USER, _assistant(tool_calls=[CALL, {**CALL, "id": "b"}], reasoning_content=" r\n")],
        [USER, _assistant("\n\n", tool_calls=[{"name": "f", "arguments": {}}])],
        [USER, _assistant("a<think>\nb\n</think>\nc"), USER, _assistant("x</think>y</think>z")],
        [USER, _assistant(tool_calls=[CALL]), USER, {"role": "tool", "content": "late"}],
        [_assistant("first"), USER],
    ],
)
@pytest.mark.parametrize("tools", [None, [F]])
def test_rare_shapes_print_the_same(
    oracle: Oracle, family: Family, keeping_native: Path, messages: list[Message], tools: list[Tool] | None
) -> None:
    comparison = Comparison(oracle, family, keeping_native)
    opened, closed = (
        comparison.check(
            messages, tools=tools, kwargs=family.fixed_kwargs, generation_prompt=generation_prompt
        )
        for generation_prompt in (True, False)
    )
    assert opened.startswith(closed)
    assert opened != closed


def test_parts_of_raw_messages_print_the_same(oracle: Oracle, family: Family, keeping_native: Path) -> None:
    """What titocli joins before rendering, and engines do not."""
    parts: list[JsonValue] = [{"type": "text", "text": "a"}, {"type": "other"}, "b"]
    answers: list[JsonValue] = [{"type": "text", "text": "a"}, {"output": 1}, {"type": "x"}]
    messages: list[Message] = [
        {"role": "system", "content": parts},
        {"role": "user", "content": parts},
        _assistant(tool_calls=[CALL]),
        {"role": "tool", "content": answers},
    ]
    kwargs = family.fixed_kwargs
    native = oracle.render(keeping_native, messages, kwargs=kwargs, generation_prompt=True).text
    assert family_renderer(family).text(messages, kwargs=kwargs, generation_prompt=True) == native


def test_text_parts_of_a_tool_result_are_one_response(
    oracle: Oracle, family: Family, keeping_native: Path
) -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    messages: list[Message] = [USER, _assistant(tool_calls=[CALL]), {"role": "tool", "content": parts}]
    kwargs = family.fixed_kwargs
    ours = family_renderer(family).text(
        normalise_messages(family, messages), kwargs=kwargs, generation_prompt=False
    )
    native = oracle.render(keeping_native, messages, kwargs=kwargs, generation_prompt=False).text
    assert ours.endswith("]~b]tool\n<response>ab</response>[e~[\n")
    assert str(native).endswith("]~b]tool\n<response>a\n</response>\n<response>b\n</response>[e~[\n")


@pytest.mark.parametrize(
    "messages",
    [
        [USER, {"role": "tool", "content": "1"}],
        [USER, _assistant("no call"), {"role": "tool", "content": "1"}],
        [USER, _assistant(tool_calls=[CALL]), _assistant("no call"), {"role": "tool", "content": "1"}],
    ],
)
def test_a_result_that_no_call_asked_for_is_refused_by_both(
    oracle: Oracle, family: Family, native: Path, messages: list[Message]
) -> None:
    kwargs = family.fixed_kwargs
    assert oracle.render(native, messages, kwargs=kwargs, generation_prompt=True).text is None
    with pytest.raises(TemplateRaised, match="must follow an assistant message that calls a tool"):
        family_renderer(family).text(messages, kwargs=kwargs, generation_prompt=True)


def test_a_later_system_message_is_refused_where_the_checkpoint_drops_it(
    oracle: Oracle, family: Family, native: Path
) -> None:
    """Why the role is not appendable: the text would vanish."""
    messages = [USER, _assistant("a"), SYSTEM, USER]
    kwargs = family.fixed_kwargs
    dropped = oracle.render(native, messages, kwargs=kwargs, generation_prompt=True).text
    without = oracle.render(native, [USER, _assistant("a"), USER], kwargs=kwargs, generation_prompt=True).text
    assert dropped == without
    renderer = family_renderer(family)
    with pytest.raises(TemplateRaised, match="A system message can only be the first message") as raised:
        renderer.text(messages, kwargs=kwargs, generation_prompt=True)
    assert raised.value.details["message_index"] == 2
    assert "system" not in family.append_roles


def test_no_generated_conversation_is_rewritten(family: Family) -> None:
    renderer = family_renderer(family)
    for conversation in generate(family, generated_count(), SEED):
        assert find_counterexample(renderer, conversation) is None


def test_the_declared_deviations_are_the_ones_that_are_needed(family: Family) -> None:
    assert [deviation.what for deviation in family.deviations] == [
        "every assistant turn keeps its reasoning",
        "a system message that is not the first message is refused",
        "a tool result in text parts is one response",
    ]
