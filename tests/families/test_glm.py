"""GLM: where a turn ends, what must not change on a path, and why tool results come in whole runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.assets import tokenizer_file
from tests.families.boundaries import appends, byte_tokenizer, joined, stop_id
from titocli.errors import InvalidMessages, UnsupportedRequest
from titocli.families.family import Family, Role, ToolRuns
from titocli.families.kwargs import resolve_kwargs
from titocli.families.messages import normalise_messages
from titocli.families.registry import all_contracts, get_family
from titocli.families.renderer import Renderer, family_renderer
from titocli.jsonvalue import JsonObject, JsonValue, Message
from titocli.session.tool_runs import refuse_incomplete_run
from titocli.tokens.tokenizer import Tokenizer
from titocli.verify.append_only import Counterexample, Violation, find_counterexample
from titocli.verify.conversations import Conversation, generate
from titocli.verify.features import coverage

CONTRACTS = [family for family in all_contracts() if family.name in {"glm47", "glm53"}]
USER: Message = {"role": "user", "content": "Hello"}
ANSWER: Message = {"role": "assistant", "content": "Yes"}


@pytest.fixture(params=CONTRACTS, ids=lambda family: f"{family.name}-{family.variant}")
def family(request: pytest.FixtureRequest) -> Family:
    family: Family = request.param
    return family


def _real_tokenizer(family: Family) -> Tokenizer:
    path = tokenizer_file("glm47" if family.variant == "4.7" else "glm5")
    return Tokenizer(path.read_text(encoding="utf-8"), source=path.name)


def _conversation(*messages: Message, kwargs: Mapping[str, JsonValue] | None = None) -> Conversation:
    return Conversation(messages=messages, tools=None, kwargs=kwargs or {}, seed=0, index=0)


def _text(family: Family, *messages: Message, **kwargs: JsonValue) -> str:
    return family_renderer(family).text(
        normalise_messages(family, messages), kwargs=resolve_kwargs(family, kwargs), generation_prompt=True
    )


def _boundaries(renderer: Renderer, count: int) -> int:
    """How many appends of generated conversations were looked at: each is the canonical one."""
    seen = 0
    for before, suffix, canonical in appends(renderer, count):
        stored = list(renderer.ids(before))
        assert joined(renderer, stored, suffix) == canonical, "cut off by the length limit"
        for stop in ("<|user|>", "<|observation|>"):
            assert joined(renderer, [*stored, *stop_id(renderer, stop)], suffix) == canonical, stop
        seen += 1
    return seen


def test_a_stop_token_is_dropped_whichever_turn_follows(family: Family) -> None:
    tokens = family.required_tokens
    assert _boundaries(family_renderer(family, byte_tokenizer(tokens)), 40) > 20


@pytest.mark.assets
def test_with_the_real_vocabulary_prefix_and_suffix_are_the_canonical_ids(family: Family) -> None:
    assert _boundaries(family_renderer(family, _real_tokenizer(family)), 100) > 50


def test_an_end_of_text_token_stays_in_the_prefix(family: Family) -> None:
    renderer = family_renderer(family, byte_tokenizer(family.required_tokens))
    end = stop_id(renderer, "<|endoftext|>")
    for before, suffix, _ in appends(renderer, 5):
        stored = [*renderer.ids(before), *end]
        assert joined(renderer, stored, suffix) == [*stored, *suffix]


def test_at_most_one_token_is_dropped(family: Family) -> None:
    renderer = family_renderer(family, byte_tokenizer(family.required_tokens))
    user = stop_id(renderer, "<|user|>")
    assert renderer.boundary.max_trim == 1
    assert joined(renderer, [65, *user, *user], [66]) == [65, *user, 66]


@pytest.mark.parametrize(
    ("variant", "thinking", "opener"),
    [
        ("4.7", True, "<think>"),
        ("4.7", False, "</think>"),
        ("5", False, "</think>"),
        ("5.1", True, "<think>"),
        ("5.1", False, "</think>"),
        ("5.2", True, "<think>"),
        ("5.2", False, "<think></think>"),
    ],
)
def test_the_generation_prompt_says_whether_the_model_thinks(
    variant: str, thinking: bool, opener: str
) -> None:
    text = _text(get_family("glm47", variant), USER, enable_thinking=thinking)
    assert text.endswith(f"<|user|>Hello<|assistant|>{opener}")


@pytest.mark.parametrize(
    ("variant", "kwargs", "turn"),
    [
        ("4.7", {}, "</think>Yes"),
        ("5", {}, "</think>Yes"),
        ("5.1", {}, "<think></think>Yes"),
        ("5.1", {"enable_thinking": False}, "</think>Yes"),
        ("5.2", {}, "<think></think>Yes"),
    ],
)
@pytest.mark.parametrize("later", [[], [USER], [{**ANSWER, "reasoning_content": "r"}, USER]])
def test_a_turn_without_reasoning_begins_the_same_whatever_follows(
    variant: str, kwargs: dict[str, JsonValue], turn: str, later: list[Message]
) -> None:
    text = _text(get_family("glm47", variant), USER, ANSWER, *later, **kwargs)
    assert f"<|user|>Hello<|assistant|>{turn}<|" in text


@pytest.mark.parametrize(
    ("name", "variant", "efforts"),
    [
        ("glm47", "5.2", {"max": "Max", "high": "High"}),
        ("glm53", None, {"max": "Max", "high": "High", "low": "Low"}),
    ],
)
def test_the_effort_stands_at_the_head_and_is_therefore_pinned(
    name: str, variant: str | None, efforts: dict[str, str]
) -> None:
    family = get_family(name, variant)
    assert set(efforts) == set(family.pinned_kwargs["reasoning_effort"])
    for effort, word in efforts.items():
        text = _text(family, USER, reasoning_effort=effort)
        assert text.startswith(f"[gMASK]<sop><|system|>Reasoning Effort: {word}<|user|>")
    assert _text(family, USER) == _text(family, USER, reasoning_effort="max")


def test_glm52_leaves_the_effort_out_without_thinking_which_is_therefore_pinned() -> None:
    family = get_family("glm47", "5.2")
    assert _text(family, USER, enable_thinking=False).startswith("[gMASK]<sop><|user|>")
    assert family.pinned_kwargs["enable_thinking"] == (True, False)


def _calls(*ids: str) -> Message:
    made: list[JsonObject] = [{"id": each, "function": {"name": "f", "arguments": {}}} for each in ids]
    return {"role": "assistant", "content": "", "tool_calls": made}


def _results(*ids: str) -> list[Message]:
    return [{"role": "tool", "tool_call_id": each, "content": f"result {each}"} for each in ids]


def test_glm53_puts_results_in_the_order_of_the_calls() -> None:
    text = _text(get_family("glm53"), USER, _calls("a", "b"), *_results("b", "a"))
    one, other = (f"<tool_response>result {each}</tool_response>" for each in "ab")
    assert f"<|observation|>{one}{other}<|assistant|><think>" in text


def test_glm53_would_move_a_result_that_is_already_in_the_prefix() -> None:
    """Why the family appends complete runs only: the state between two results is rewritten."""
    family = get_family("glm53")
    partial = _text(family, USER, _calls("a", "b"), *_results("b")).removesuffix("<|assistant|><think>")
    complete = _text(family, USER, _calls("a", "b"), *_results("b", "a"))
    assert not complete.startswith(partial)
    history, run = [USER, _calls("a", "b")], _results("b")
    with pytest.raises(InvalidMessages, match="1 of 2 calls"):
        refuse_incomplete_run(family, history, run)
    refuse_incomplete_run(family, history, _results("b", "a"))
    assert get_family("glm47").tool_runs is ToolRuns.ANY


def test_generated_conversations_have_what_the_newer_templates_treat_specially() -> None:
    counts = coverage(generate(get_family("glm53"), 400, seed=1))
    assert counts["results out of order"] >= 20
    assert all(counts[f"part {kind}"] >= 5 for kind in get_family("glm53").content_parts)
    assert "results out of order" not in coverage(generate(get_family("glm47"), 400, seed=1))


def test_every_role_may_follow_an_assistant_turn(family: Family) -> None:
    assert set(family.append_roles) == set(Role)
    following: list[Message] = [*_results("a"), USER, {"role": "system", "content": "late"}, ANSWER]
    for message in following:
        conversation = _conversation(USER, _calls("a"), message)
        assert find_counterexample(family_renderer(family), conversation) is None


def test_without_the_fixed_kwarg_history_is_rewritten(family: Family) -> None:
    clearing = replace(family, fixed_kwargs={"clear_thinking": True})
    conversation = _conversation(USER, {**ANSWER, "reasoning_content": "r"}, USER)
    found = find_counterexample(family_renderer(clearing), conversation)
    assert isinstance(found, Counterexample)
    assert (found.violation, found.turn_end, found.state_end) == (Violation.PREFIX_REWRITTEN, 2, 3)


def test_media_that_a_template_would_drop_silently_are_refused() -> None:
    picture: Message = {"role": "user", "content": [{"type": "image", "image": "x"}]}
    for variant in ("4.7", "5", "5.1"):
        with pytest.raises((InvalidMessages, UnsupportedRequest), match="'image'"):
            normalise_messages(get_family("glm47", variant), [picture])
    assert "<reminder>" in _text(get_family("glm47", "5.2"), picture)
    assert "<reminder>" in _text(get_family("glm53"), picture)
    assert "<|begin_of_image|><|image|><|end_of_image|>" in _text(get_family("glm53", "5.3-flash"), picture)


@pytest.mark.parametrize("arguments", ["Paris", "[1]", '{"a": '])
def test_text_that_is_no_object_is_printed_as_one_argument(family: Family, arguments: str) -> None:
    call: JsonObject = {"id": "a", "function": {"name": "f", "arguments": arguments}}
    text = _text(family, USER, {"role": "assistant", "content": "", "tool_calls": [call]})
    assert "<arg_key>arguments</arg_key><arg_value>" + arguments + "</arg_value>" in text


@pytest.mark.parametrize("arguments", [3, [1]])
def test_arguments_that_are_neither_text_nor_object_are_refused(family: Family, arguments: JsonValue) -> None:
    call: JsonObject = {"id": "a", "function": {"name": "f", "arguments": arguments}}
    with pytest.raises(InvalidMessages, match="arguments"):
        normalise_messages(family, [USER, {"role": "assistant", "content": "", "tool_calls": [call]}])


@pytest.mark.parametrize("arguments", [None, "", "{}", {}])
def test_empty_arguments_print_no_pair(family: Family, arguments: JsonValue) -> None:
    call: JsonObject = {"id": "a", "function": {"name": "f", "arguments": arguments}}
    text = _text(family, USER, {"role": "assistant", "content": "", "tool_calls": [call]})
    assert "<tool_call>f</tool_call><|assistant|>" in text
