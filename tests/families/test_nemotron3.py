"""Nemotron 3: where a turn ends, and the kwargs that a session refuses because they rewrite history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.assets import tokenizer_file
from tests.families.boundaries import appends, byte_tokenizer, joined, stop_id
from titocli.errors import InvalidMessages, UnsupportedRequest
from titocli.families.family import Family, Role
from titocli.families.kwargs import resolve_kwargs
from titocli.families.messages import normalise_messages
from titocli.families.registry import get_family
from titocli.families.renderer import Renderer, family_renderer
from titocli.jsonvalue import JsonObject, JsonValue, Message
from titocli.session.arguments import refuse_rewriting
from titocli.tokens.tokenizer import Tokenizer
from titocli.verify.append_only import Violation, find_counterexample
from titocli.verify.conversations import Conversation

USER: Message = {"role": "user", "content": "Hello"}
ANSWER: Message = {"role": "assistant", "content": "Yes"}


@pytest.fixture(params=["nano", "super", "ultra"])
def family(request: pytest.FixtureRequest) -> Family:
    return get_family("nemotron3", request.param)


def _conversation(*messages: Message, kwargs: Mapping[str, JsonValue] | None = None) -> Conversation:
    return Conversation(messages=messages, tools=None, kwargs=kwargs or {}, seed=0, index=0)


def _text(family: Family, *messages: Message, **kwargs: JsonValue) -> str:
    return family_renderer(family).text(
        normalise_messages(family, messages), kwargs=resolve_kwargs(family, kwargs), generation_prompt=True
    )


def _boundaries(renderer: Renderer, count: int) -> int:
    """How many appends were looked at: the engine stops at the end token, the newline after it is glued."""
    end = stop_id(renderer, "<|im_end|>")
    seen = 0
    for before, suffix, canonical in appends(renderer, count):
        stored = list(renderer.ids(before.removesuffix("\n")))
        assert stored[-1:] == end
        assert joined(renderer, stored, suffix) == canonical
        seen += 1
    return seen


def test_the_newline_after_the_end_token_is_glued(family: Family) -> None:
    assert _boundaries(family_renderer(family, byte_tokenizer(family.required_tokens)), 40) > 20


@pytest.mark.assets
def test_with_the_real_vocabulary_prefix_and_suffix_are_the_canonical_ids(family: Family) -> None:
    path = tokenizer_file("nemotron3")
    tokenizer = Tokenizer(path.read_text(encoding="utf-8"), source=path.name)
    assert _boundaries(family_renderer(family, tokenizer), 100) > 50


@pytest.mark.parametrize(("thinking", "opener"), [(True, "<think>\n"), (False, "<think></think>")])
def test_the_generation_prompt_says_whether_the_model_thinks(
    family: Family, thinking: bool, opener: str
) -> None:
    text = _text(family, USER, enable_thinking=thinking)
    assert text.endswith(f"<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n{opener}")


@pytest.mark.parametrize(
    ("variant", "block"),
    [
        ("nano", "<think>\nr\n</think>\n"),
        ("super", "<think>\nr\n</think>\n"),
        ("ultra", "<think>\nr</think>"),
    ],
)
def test_ultra_writes_a_tighter_think_block(variant: str, block: str) -> None:
    text = _text(get_family("nemotron3", variant), USER, {**ANSWER, "reasoning_content": "r"}, USER)
    assert f"<|im_start|>assistant\n{block}Yes<|im_end|>\n" in text


@pytest.mark.parametrize(
    ("variant", "kwarg", "word"), [("super", "low_effort", "low"), ("ultra", "medium_effort", "efficient")]
)
def test_an_effort_moves_with_the_last_user_message_and_rewrites_history(
    variant: str, kwarg: str, word: str
) -> None:
    family = get_family("nemotron3", variant)
    conversation = _conversation(USER, ANSWER, USER, kwargs={kwarg: True})
    found = find_counterexample(family_renderer(family), conversation)
    assert found is not None
    assert (found.violation, found.turn_end, found.state_end) == (Violation.PREFIX_REWRITTEN, 2, 3)
    assert f"{{reasoning effort: {word}}}" in found.expected
    assert "{reasoning effort" not in found.actual


@pytest.mark.parametrize("kwarg", ["low_effort", "medium_effort"])
def test_a_session_refuses_an_effort_with_the_reason(family: Family, kwarg: str) -> None:
    with pytest.raises(UnsupportedRequest, match=f"{kwarg}: .* at the end of the last user message"):
        refuse_rewriting(family, {kwarg: True})
    refuse_rewriting(family, {kwarg: False})


def test_every_role_may_follow_an_assistant_turn(family: Family) -> None:
    assert set(family.append_roles) == set(Role)
    call: JsonObject = {"id": "a", "function": {"name": "f", "arguments": {}}}
    following: list[Message] = [
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        USER,
        {"role": "system", "content": "late"},
        ANSWER,
    ]
    for message in following:
        conversation = _conversation(USER, {**ANSWER, "tool_calls": [call]}, message)
        assert find_counterexample(family_renderer(family), conversation) is None


def test_without_the_fixed_kwarg_history_is_rewritten(family: Family) -> None:
    truncating = replace(family, fixed_kwargs={})
    conversation = _conversation(USER, {**ANSWER, "reasoning_content": "r"}, USER)
    found = find_counterexample(family_renderer(truncating), conversation)
    assert found is not None
    assert (found.violation, found.turn_end, found.state_end) == (Violation.PREFIX_REWRITTEN, 2, 3)


def test_scalars_print_as_python_does_and_containers_as_json(family: Family) -> None:
    arguments = {"n": None, "b": True, "f": 1.5, "l": [True, None], "s": "<&>"}
    call: JsonObject = {"id": "a", "function": {"name": "f", "arguments": arguments}}
    text = _text(family, USER, {**ANSWER, "tool_calls": [call]})
    printed = {"n": "None", "b": "True", "f": "1.5", "l": "[true, null]", "s": "<&>"}
    body = "".join(f"<parameter={name}>\n{value}\n</parameter>\n" for name, value in printed.items())
    assert f"Yes\n<tool_call>\n<function=f>\n{body}</function>\n</tool_call>\n<|im_end|>\n" in text


@pytest.mark.parametrize("arguments", ["Paris", "[1]", '{"a": '])
def test_text_that_is_no_object_is_printed_as_one_argument(family: Family, arguments: str) -> None:
    call: JsonObject = {"id": "a", "function": {"name": "f", "arguments": arguments}}
    text = _text(family, USER, {**ANSWER, "tool_calls": [call]})
    assert f"<parameter=arguments>\n{arguments}\n</parameter>\n" in text


@pytest.mark.parametrize("arguments", [3, [1]])
def test_arguments_that_are_neither_text_nor_object_are_refused(family: Family, arguments: JsonValue) -> None:
    call: JsonObject = {"id": "a", "function": {"name": "f", "arguments": arguments}}
    with pytest.raises(InvalidMessages, match="arguments"):
        normalise_messages(family, [USER, {**ANSWER, "tool_calls": [call]}])
