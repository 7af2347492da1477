"""Encoders as templates: their kwargs, their names, what they refuse."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import pytest

from tests.encoders.chats import CONTRACTS, contract, our_text
from titocli.errors import ConflictingKwarg, PinnedKwarg, TemplateRaised, UnsupportedRequest
from titocli.families.encoders import encoder_template
from titocli.families.family import Encoder, Family
from titocli.families.kwargs import canonical_kwargs, resolve_kwargs
from titocli.families.registry import get_family
from titocli.families.renderer import family_renderer
from titocli.jsonvalue import JsonObject, JsonValue, Message, Tool
from titocli.session.arguments import TurnArguments, TurnRequest, resolve_arguments

USER: Message = {"role": "user", "content": "u"}
ANSWER: Message = {"role": "assistant", "content": "a", "reasoning_content": "r"}
SECRET = "the text of a prompt"


@pytest.fixture(params=CONTRACTS, ids=lambda named: "-".join(filter(None, named)))
def family(request: pytest.FixtureRequest) -> Family:
    return contract(*request.param)


def _text(family: Family, *messages: Message, **kwargs: Any) -> str:
    return our_text(family, messages, kwargs=resolve_kwargs(family, kwargs), generation_prompt=True)


@pytest.mark.parametrize("encoder", list(Encoder))
def test_an_encoder_is_known_by_its_name_and_the_hash_of_its_source(encoder: Encoder) -> None:
    source = encoder_template(encoder).source
    assert source.name == f"{encoder.value} (built-in encoder)"
    assert f"DeepSeek V{encoder.value.removeprefix('deepseek_v')[0]}" in source.text
    assert source.sha256 == hashlib.sha256(source.text.encode()).hexdigest()


def test_the_three_encoders_have_three_hashes() -> None:
    assert len({encoder_template(encoder).source.sha256 for encoder in Encoder}) == 3


def test_an_encoder_reads_the_kwargs_that_its_family_declares(family: Family) -> None:
    assert family.encoder is not None
    variables = encoder_template(family.encoder).variables
    assert {*family.fixed_kwargs, *family.pinned_kwargs, *family.turn_kwargs} == variables - {
        "messages",
        "tools",
        "add_generation_prompt",
    }


def test_a_kwarg_that_an_encoder_does_not_read_changes_nothing(family: Family) -> None:
    assert _text(family, USER, unknown=[1]) == _text(family, USER)


def test_every_pinned_value_changes_what_is_printed(family: Family) -> None:
    for name, values in family.pinned_kwargs.items():
        texts = [_text(family, USER, ANSWER, USER, **{name: value}) for value in values]
        # xhigh is another word for high.
        assert len(set(texts)) == len([value for value in values if value != "xhigh"])
        if values:
            assert texts[0] == _text(family, USER, ANSWER, USER)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"thinking": 1},
        {"thinking": "no"},
        {"add_default_bos_token": "yes"},
        {"context": "x"},
        {"context": {}},
        {"context": [1]},
        {"context": 3},
    ],
)
def test_kwargs_of_another_type_are_refused_by_name(family: Family, kwargs: dict[str, JsonValue]) -> None:
    with pytest.raises(TemplateRaised, match=next(iter(kwargs))):
        _text(family, USER, **kwargs)


def test_a_null_kwarg_is_an_absent_one(family: Family) -> None:
    nothing = dict.fromkeys(family.pinned_kwargs)
    assert _text(family, USER, **nothing) == _text(family, USER, context=[]) == _text(family, USER)


def test_a_context_is_not_printed_and_takes_the_first_token_away(family: Family) -> None:
    whole = _text(family, USER, ANSWER, USER)
    assert whole.endswith(_text(family, USER, context=[USER, ANSWER]))
    assert _text(family, USER, context=[USER, ANSWER]) == "<｜User｜>u<｜Assistant｜><think>"
    assert whole.count("<｜begin▁of▁sentence｜>") == 1


@pytest.mark.parametrize(
    ("share", "budget"), [(0.0, 1), (0.001, 1), (0.29, 29), (0.5, 50), (0.99, 99), (1, 1), (100, 100)]
)
def test_v41_takes_effort_as_a_number_or_a_share(share: float, budget: int) -> None:
    text = _text(get_family("deepseekv41"), USER, reasoning_effort=share)
    assert text.startswith(f"<｜begin▁of▁sentence｜><｜System｜>Reasoning Effort: {budget} (range 1-100, ")


@pytest.mark.parametrize("effort", [-0.01, 0.995, 1.0, 0, 101, "50", [50], False])
def test_v41_refuses_other_efforts(effort: JsonValue) -> None:
    with pytest.raises(TemplateRaised, match="from 1 to 100"):
        _text(get_family("deepseekv41"), USER, reasoning_effort=effort)


def test_a_profile_of_efforts_that_does_not_exist_is_refused() -> None:
    template = encoder_template(Encoder.DEEPSEEK_V4)
    with pytest.raises(TemplateRaised, match="none of preview, official"):
        template.render(messages=[USER], reasoning_effort_profile="beta")


@pytest.mark.parametrize(
    ("messages", "index"),
    [
        ([USER, {"role": "tool", "content": SECRET}], 1),
        ([{"role": "tool", "content": SECRET}], 0),
        ([USER, ANSWER, {"role": "tool", "content": SECRET}], 2),
    ],
)
def test_v32_names_the_result_that_nothing_asked_for(messages: list[Message], index: int) -> None:
    family = get_family("deepseekv32")
    tools: list[Tool] = [{"type": "function", "function": {"name": "f"}}]
    given: Sequence[Tool]
    for given in ((), tools):
        with pytest.raises(TemplateRaised, match="no call before it asked for") as refused:
            our_text(family, messages, tools=given, kwargs={}, generation_prompt=True)
        assert refused.value.details["message_index"] == index
        assert refused.value.details["file"] == "deepseek_v32 (built-in encoder)"
        assert SECRET not in str(refused.value)


def test_v32_names_the_answer_without_a_thought_when_thinking_is_dropped() -> None:
    template = encoder_template(Encoder.DEEPSEEK_V32)
    messages = [USER, {"role": "assistant", "content": "a"}]
    with pytest.raises(TemplateRaised, match="neither reasoning nor tool calls") as refused:
        template.render(messages=messages)
    assert refused.value.details["message_index"] == 1
    assert template.render(messages=messages, drop_thinking=False).endswith(
        "<think></think>a<｜end▁of▁sentence｜>"
    )


@pytest.mark.parametrize(
    "message",
    [
        {"role": SECRET, "content": "x"},
        {"role": "user", "content": [SECRET]},
        {"content": SECRET},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"function": {"name": "f", "arguments": SECRET}}],
        },
        {"role": "assistant", "content": "", "tool_calls": [{"function": SECRET}]},
        {"role": "assistant", "content": "", "tool_calls": [{"id": [], "function": {"arguments": {}}}]},
    ],
)
def test_messages_that_were_not_normalised_are_refused_without_their_text(
    family: Family, message: Message
) -> None:
    with pytest.raises(TemplateRaised) as refused:
        our_text(family, [USER, message], kwargs={}, generation_prompt=False)
    assert SECRET not in str(refused.value) or message.get("role") == SECRET


def test_arguments_nested_beyond_reason_are_refused(family: Family) -> None:
    nested: JsonValue = []
    for _ in range(100_000):
        nested = [nested]
    call: JsonObject = {"id": "a", "function": {"name": "f", "arguments": {"x": nested}}}
    with pytest.raises(TemplateRaised, match="RecursionError"):
        our_text(
            family,
            [USER, {"role": "assistant", "content": "", "tool_calls": [call]}],
            kwargs={},
            generation_prompt=False,
        )


@pytest.mark.parametrize(
    ("given", "thinking"),
    [
        ({"thinking": False}, False),
        ({"enable_thinking": False}, False),
        ({"thinking_mode": "chat"}, False),
        ({"thinking_mode": "thinking"}, True),
        ({"thinking_mode": "chat", "enable_thinking": False, "thinking": False}, False),
        ({"thinking_mode": None, "enable_thinking": None}, True),
        ({"thinking": None, "enable_thinking": False}, False),
        ({}, True),
    ],
)
def test_three_names_are_one_setting(family: Family, given: dict[str, JsonValue], thinking: bool) -> None:
    resolved = resolve_kwargs(family, given)
    assert resolved.get("thinking", True) in (thinking, None)
    assert not {"thinking_mode", "enable_thinking"} & resolved.keys()
    assert _text(family, USER, **given).endswith("<think>" if thinking else "</think>")


@pytest.mark.parametrize(
    "given",
    [
        {"thinking": True, "enable_thinking": False},
        {"thinking_mode": "chat", "enable_thinking": True},
        {"thinking_mode": "thinking", "thinking": False},
    ],
)
def test_names_that_contradict_each_other_are_refused(family: Family, given: dict[str, JsonValue]) -> None:
    with pytest.raises(ConflictingKwarg) as refused:
        resolve_kwargs(family, given)
    assert refused.value.details["kwarg"] == "thinking"


def test_a_later_layer_wins_under_any_name(family: Family) -> None:
    assert resolve_kwargs(family, {"thinking_mode": "chat"}, {"enable_thinking": True})["thinking"] is True


def test_a_thinking_mode_that_does_not_exist_is_refused(family: Family) -> None:
    with pytest.raises(UnsupportedRequest) as refused:
        canonical_kwargs(family, {"thinking_mode": "deep"})
    assert refused.value.details["param"] == "thinking_mode"


def test_kwargs_of_a_family_that_is_not_known_to_think_stay_as_they_are() -> None:
    given: JsonObject = {"thinking_mode": "chat", "enable_thinking": True}
    assert canonical_kwargs(get_family("default"), given) == given


def _arguments(family: Family, parent: TurnArguments | None, **kwargs: JsonValue) -> TurnArguments:
    request = TurnRequest(messages=[USER], template_kwargs=kwargs)
    return resolve_arguments(family, {}, parent, request)


def test_a_path_keeps_its_thinking_under_any_name(family: Family) -> None:
    first = _arguments(family, None, thinking_mode="chat")
    assert first.template_kwargs["thinking"] is False
    for same in ({}, {"enable_thinking": False}, {"thinking": False}, {"thinking_mode": "chat"}):
        assert _arguments(family, first, **same).template_kwargs == first.template_kwargs
    for other in ({"enable_thinking": True}, {"thinking": True}, {"thinking_mode": "thinking"}):
        with pytest.raises(PinnedKwarg):
            _arguments(family, first, **other)


def test_a_path_keeps_its_context_and_first_token(family: Family) -> None:
    first = _arguments(family, None)
    for other in ({"context": [USER]}, {"add_default_bos_token": False}):
        with pytest.raises(PinnedKwarg):
            _arguments(family, first, **other)
        assert _arguments(family, _arguments(family, None, **other), **other)


def test_an_effort_is_a_kwarg_of_v4_and_not_of_v32() -> None:
    request = TurnRequest(messages=[USER], reasoning_effort="max")
    assert resolve_arguments(get_family("deepseekv4"), {}, None, request).template_kwargs == {
        "drop_thinking": False,
        "reasoning_effort_profile": "preview",
        "reasoning_effort": "max",
    }
    with pytest.raises(UnsupportedRequest):
        resolve_arguments(get_family("deepseekv32"), {}, None, request)


def test_the_variant_decides_what_an_effort_means() -> None:
    preview, official = get_family("deepseekv4"), get_family("deepseekv4", "0731")
    assert _text(preview, USER, reasoning_effort="max") == _text(official, USER, reasoning_effort="high")
    assert _text(preview, USER) == _text(official, USER)
    with pytest.raises(ConflictingKwarg):
        resolve_kwargs(official, {"reasoning_effort_profile": "preview"})


def test_tools_and_arguments_are_printed_as_they_came(family: Family) -> None:
    arguments: JsonObject = {
        "z": '<a> "b"',
        "a": 1.0,
        "n": None,
        "l": ["é", {"y": 1, "b": False}],
        "e": "",
        "i": 2**70,
    }
    call: JsonObject = {"id": "1", "function": {"name": "f", "arguments": arguments}}
    tool: Tool = {"type": "function", "function": {"strict": True, "name": "f", "description": "a\n<é>"}}
    messages: list[Message] = [
        USER,
        {"role": "assistant", "content": "", "reasoning_content": "r", "tool_calls": [call]},
    ]
    text = our_text(family, messages, tools=[tool], kwargs={}, generation_prompt=False)
    space = " " if family.name == "deepseekv41" else ""
    for name, flag, value in (
        ("z", "true", '<a> "b"'),
        ("a", "false", "1.0"),
        ("n", "false", "null"),
        ("l", "false", '["é", {"y": 1, "b": false}]'),
        ("e", "true", ""),
        ("i", "false", "1180591620717411303424"),
    ):
        tag = f"｜DSML｜{space}parameter"
        assert f'<{tag} name="{name}" string="{flag}">{value}</{tag}>\n' in text
    assert '\n{"strict": true, "name": "f", "description": "a\\n<é>"}\n' in text


def test_a_call_without_arguments_keeps_its_empty_line(family: Family) -> None:
    call: JsonObject = {"id": "1", "name": "f", "arguments": {}}
    text = our_text(
        family,
        [USER, {"role": "assistant", "content": "", "tool_calls": [call]}],
        kwargs={},
        generation_prompt=False,
    )
    space = " " if family.name == "deepseekv41" else ""
    assert f'<｜DSML｜{space}invoke name="f">\n\n</｜DSML｜{space}invoke>' in text


def test_the_renderer_of_a_family_with_an_encoder_takes_it(family: Family) -> None:
    assert family_renderer(family).template.source.name.endswith("(built-in encoder)")
