"""The encoders print, byte for byte, what SGLang's print, but for the declared deviations."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.encoders.chats import (
    CONTRACTS,
    MODULE_OF,
    contract,
    declared_edits,
    module_of,
    our_text,
    sglang_text,
)
from tests.encoders.oracle import SHA256, EncoderOracle, running_oracle
from tests.generated_count import generated_count
from tests.parity.conftest import engine_python
from titocli.errors import TemplateRaised
from titocli.families.family import Encoder, Family
from titocli.families.kwargs import resolve_kwargs
from titocli.families.messages import normalise_messages, normalise_tools
from titocli.jsonvalue import JsonObject, JsonValue, Message, Tool
from titocli.verify.conversations import Conversation, generate

pytestmark = pytest.mark.assets

SEED = 20261129
CALL: JsonObject = {
    "id": "a",
    "type": "function",
    "function": {"name": "f", "arguments": {"n": None, "s": " <x> "}},
}
OTHER_CALL: JsonObject = {"id": "b", "type": "function", "function": {"name": "g", "arguments": {}}}
USER: Message = {"role": "user", "content": " u\n"}
THOUGHT: Message = {"role": "assistant", "content": "a", "reasoning_content": "r"}
LATE: Message = {"role": "system", "content": "late"}
TOOL: Tool = {"type": "function", "function": {"name": "f", "parameters": {"z": [1.0, "é<"], "a": None}}}


@pytest.fixture(scope="module", params=CONTRACTS, ids=lambda named: "-".join(filter(None, named)))
def family(request: pytest.FixtureRequest) -> Family:
    return contract(*request.param)


@pytest.fixture(scope="module")
def oracle(family: Family) -> Iterator[EncoderOracle]:
    with running_oracle(module_of(family)) as running:
        yield running


def _profile(family: Family) -> dict[str, JsonValue]:
    return {name: value for name, value in family.fixed_kwargs.items() if name != "drop_thinking"}


def _compare(
    oracle: EncoderOracle, family: Family, conversation: Conversation, kwargs: dict[str, JsonValue]
) -> bool:
    """True where both print the same, False where both refuse."""
    messages = normalise_messages(family, conversation.messages)
    tools = normalise_tools(conversation.tools)
    prompt = conversation.index % 2 == 0
    theirs = sglang_text(oracle, family, messages, tools=tools, kwargs=kwargs, generation_prompt=prompt)
    if theirs is None:
        with pytest.raises(TemplateRaised):
            our_text(family, messages, tools=tools, kwargs=kwargs, generation_prompt=prompt)
        return False
    ours = our_text(family, messages, tools=tools, kwargs=kwargs, generation_prompt=prompt)
    assert ours == theirs, conversation.index
    return True


def test_with_the_familys_kwargs_the_text_is_sglangs_but_for_the_deviations(
    oracle: EncoderOracle, family: Family
) -> None:
    for conversation in generate(family, generated_count(), SEED):
        assert _compare(oracle, family, conversation, resolve_kwargs(family, conversation.kwargs))


def test_history_is_cut_as_sglang_cuts_it_when_nobody_says_otherwise(
    oracle: EncoderOracle, family: Family
) -> None:
    compared = [
        _compare(oracle, family, conversation, {**conversation.kwargs, **_profile(family)})
        for conversation in generate(family, 300, SEED)
    ]
    refused = compared.count(False)
    # V3.2 refuses an answer without a thought.
    assert (refused > 0) == (family.encoder is Encoder.DEEPSEEK_V32)
    assert compared.count(True) > 150


def _compare_after(
    oracle: EncoderOracle, family: Family, messages: Sequence[Message], cut: int, kwargs: dict[str, JsonValue]
) -> bool:
    """True where both print the same of the messages from ``cut`` on, False where SGLang's refuses them."""
    given = {**kwargs, "context": messages[:cut]}
    for tools in ((), (TOOL,)):
        theirs = sglang_text(
            oracle, family, messages[cut:], tools=tools, kwargs=given, generation_prompt=True
        )
        if theirs is None:
            return False
        ours = our_text(family, messages[cut:], tools=tools, kwargs=given, generation_prompt=True)
        assert ours == theirs
    return True


@pytest.mark.parametrize("drop_thinking", [False, True])
def test_after_a_context_the_text_is_sglangs(
    oracle: EncoderOracle, family: Family, drop_thinking: bool
) -> None:
    compared = []
    for conversation in generate(family, 200, SEED + 1):
        messages = normalise_messages(family, conversation.messages)
        cut = 1 + conversation.index % len(messages)
        if messages[cut:]:
            kwargs = {**resolve_kwargs(family, conversation.kwargs), "drop_thinking": drop_thinking}
            compared.append(_compare_after(oracle, family, messages, cut, kwargs))
    assert compared.count(True) > 50


@pytest.mark.parametrize("drop_thinking", [False, True])
@pytest.mark.parametrize(
    ("roles", "cut"), [("us|a", 2), ("s|a", 1), ("ua|a", 2), ("ua|sau", 2), ("uas|au", 3), ("u|sua", 1)]
)
def test_an_answers_turn_can_be_opened_in_the_context(
    oracle: EncoderOracle, family: Family, roles: str, cut: int, drop_thinking: bool
) -> None:
    kinds: dict[str, Message] = {"u": USER, "a": THOUGHT, "s": LATE}
    messages = [kinds[role] for role in roles.replace("|", "")]
    kwargs = {**family.fixed_kwargs, "drop_thinking": drop_thinking}
    assert _compare_after(oracle, family, messages, cut, kwargs)


def _assistant(*calls: JsonValue, content: str = "", **fields: JsonValue) -> Message:
    return {"role": "assistant", "content": content, "tool_calls": list(calls), **fields}


def _result(call_id: str | None, content: str) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


RARE: Sequence[list[Message]] = (
    [{"role": "system", "content": "only"}],
    [{"role": "system", "content": ""}, USER],
    [{"role": "system", "content": "s"}, {"role": "assistant", "content": "first", "reasoning_content": "r"}],
    [USER, _assistant(CALL, OTHER_CALL), _result("b", "second"), _result("a", "first")],
    [USER, _assistant(CALL, OTHER_CALL), _result("b", "2"), _result("?", "unknown")],
    [USER, _assistant(CALL, OTHER_CALL), _result(None, "1"), _result("a", "2"), USER, USER],
    [USER, _assistant(CALL, CALL), _result("a", "1"), _result("a", "2")],
    [USER, _assistant(CALL), USER, _assistant(content="x", reasoning_content="\n r ")],
    [
        USER,
        _assistant(CALL, reasoning_content="r"),
        _result("a", ""),
        _assistant(OTHER_CALL),
        _result("b", ""),
    ],
    [USER, {"role": "assistant", "content": "</think> <think>", "reasoning_content": "<think>"}, USER],
    [USER, _assistant(content="a", reasoning_content="r"), {"role": "system", "content": "late"}, USER],
    [USER, THOUGHT, _assistant(CALL)],
    [USER, THOUGHT, LATE, THOUGHT],
)


@pytest.mark.parametrize("number", range(len(RARE)))
@pytest.mark.parametrize("drop_thinking", [False, True])
@pytest.mark.parametrize("thinking", [False, True])
@pytest.mark.parametrize("tools", [(), (TOOL,)], ids=["bare", "tools"])
def test_rare_shapes_print_the_same(
    oracle: EncoderOracle,
    family: Family,
    number: int,
    drop_thinking: bool,
    thinking: bool,
    tools: tuple[Tool, ...],
) -> None:
    messages = RARE[number]
    kwargs = {**family.fixed_kwargs, "drop_thinking": drop_thinking, "thinking": thinking}
    for prompt in (False, True):
        theirs = sglang_text(oracle, family, messages, tools=tools, kwargs=kwargs, generation_prompt=prompt)
        ours = our_text(family, messages, tools=tools, kwargs=kwargs, generation_prompt=prompt)
        assert ours == theirs


@pytest.mark.parametrize(
    "effort", [None, "low", "high", "xhigh", "max", "none", "", 1, 40, 100, 0, 101, True]
)
@pytest.mark.parametrize("thinking", [False, True])
def test_efforts_print_and_are_refused_as_sglang_does(
    oracle: EncoderOracle, family: Family, effort: JsonValue, thinking: bool
) -> None:
    if "reasoning_effort" not in family.pinned_kwargs:
        assert family.encoder is Encoder.DEEPSEEK_V32
        return
    kwargs = {**family.fixed_kwargs, "reasoning_effort": effort, "thinking": thinking}
    theirs = sglang_text(oracle, family, [USER], tools=(), kwargs=kwargs, generation_prompt=True)
    if theirs is not None:
        assert our_text(family, [USER], kwargs=kwargs, generation_prompt=True) == theirs
        return
    with pytest.raises(TemplateRaised, match="reasoning_effort is none of"):
        our_text(family, [USER], kwargs=kwargs, generation_prompt=True)


def test_every_declared_deviation_is_an_edit_that_changes_texts(
    oracle: EncoderOracle, family: Family
) -> None:
    kwargs = dict(family.fixed_kwargs)
    messages: list[Message] = [
        USER,
        {"role": "assistant", "content": "a", "reasoning_content": "r"},
        {"role": "assistant", "content": "b", "reasoning_content": "q"},
        USER,
    ]
    plain = oracle.encode(messages, kwargs=kwargs)
    for edit in declared_edits(family, kwargs)[:2]:
        assert oracle.encode(messages, kwargs=kwargs, edits=[edit]) != plain
    thoughtless = [USER, {"role": "assistant", "content": "a"}]
    refused = oracle.encode(thoughtless, kwargs=kwargs) is None
    assert refused == (family.encoder is Encoder.DEEPSEEK_V32)
    assert len(declared_edits(family, kwargs)) == (3 if refused else 1)
    # The run of results left open is refused by us alone: no edit, but a test of its own.
    assert len(family.deviations) == (4 if refused else 1)


@pytest.mark.engine
def test_sglangs_own_encoder_of_v32_is_the_one_compared_with() -> None:
    where = "import importlib.util as u; print(u.find_spec('sglang').submodule_search_locations[0])"
    found = subprocess.run([engine_python(), "-c", where], capture_output=True, text=True, check=True)
    file = Path(found.stdout.strip()) / "srt/entrypoints/openai/encoding_dsv32.py"
    module = MODULE_OF[Encoder.DEEPSEEK_V32]
    assert hashlib.sha256(file.read_bytes()).hexdigest() == SHA256[module]
