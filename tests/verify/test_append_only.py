"""The shipped templates are append-only; the checkpoints' own are not, and the check says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.assets import native_template
from tests.generated_count import generated_count
from titocli.families.chat_template import compile_template
from titocli.families.family import Family
from titocli.families.registry import all_contracts, get_family
from titocli.families.renderer import Renderer, family_renderer
from titocli.families.template_source import TemplateSource, shipped_template, template_from_file
from titocli.jsonvalue import JsonObject, JsonValue, Message
from titocli.verify.append_only import (
    Counterexample,
    Violation,
    find_counterexample,
    first_difference,
)
from titocli.verify.conversations import Conversation, generate

SEED = 1


def _conversation(*messages: Message, kwargs: Mapping[str, JsonValue] | None = None) -> Conversation:
    return Conversation(messages=messages, tools=None, kwargs=kwargs or {}, seed=0, index=0)


def _message(role: str, content: str, **fields: JsonValue) -> Message:
    return {"role": role, "content": content, **fields}


def _renderer(family: Family, *edits: tuple[str, str]) -> Renderer:
    """A renderer by the family's shipped template with some text of it replaced."""
    source = shipped_template(str(family.template))
    text = source.text
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return Renderer(family, compile_template(TemplateSource("edited.jinja", text)))


def _distinct_contracts() -> list[Family]:
    """Every contract with a rendering of its own; one of those that differ in their names alone."""
    found: dict[str, Family] = {}
    for family in all_contracts():
        named: dict[str, Any] = {
            "name": "",
            "summary": "",
            "checkpoints": (),
            "variant": None,
            "variants": {},
        }
        found.setdefault(repr(replace(family, **named)), family)
    return [family for family in found.values() if family.template or family.encoder]


def test_names_that_share_a_contract_are_checked_once() -> None:
    names = {(family.name, family.variant) for family in _distinct_contracts()}
    assert {family.name for family in all_contracts()} - {name for name, _ in names} == {
        "default",
        "qwen4exp",
    }
    assert {("glm47", "4.7"), ("glm47", "5.1"), ("glm47", "5.2")} <= names
    assert ("glm47", "5") not in names


@pytest.mark.parametrize(
    "family", _distinct_contracts(), ids=lambda family: f"{family.name}-{family.variant}"
)
def test_no_generated_conversation_breaks_a_shipped_rendering(family: Family) -> None:
    renderer = family_renderer(family)
    for conversation in generate(family, generated_count(), SEED):
        assert find_counterexample(renderer, conversation) is None


@pytest.mark.assets
@pytest.mark.parametrize(
    ("name", "native"),
    [
        ("qwen3", "qwen3"),
        ("qwennext", "qwen3_thinking_2507_next"),
        ("qwen35", "qwen3.5"),
        ("qwen36", "qwen3.6"),
    ],
)
def test_the_checkpoints_own_template_without_kwargs_is_found_to_rewrite_history(
    name: str, native: str
) -> None:
    family = replace(get_family(name), fixed_kwargs={})
    renderer = Renderer(family, compile_template(template_from_file(native_template(native))))
    conversation = _conversation(
        _message("user", "one"),
        _message("assistant", "1", reasoning_content="first"),
        _message("user", "two"),
        _message("assistant", "2", reasoning_content="second"),
    )
    found = find_counterexample(renderer, conversation)
    assert found is not None
    assert found.violation is Violation.PREFIX_REWRITTEN
    assert (found.turn_end, found.state_end) == (2, 3)
    assert "<think>" in found.expected
    assert "<think>" not in found.actual


@pytest.mark.parametrize("name", ["qwen3", "qwennext", "qwen35", "qwen36", "qwen38small"])
def test_generated_conversations_find_a_template_that_drops_thinking(name: str) -> None:
    family = get_family(name)
    dropping = replace(family, fixed_kwargs={key: not value for key, value in family.fixed_kwargs.items()})
    renderer = family_renderer(dropping)
    found = [find_counterexample(renderer, conversation) for conversation in generate(family, 100, SEED)]
    rewritten = [one for one in found if one and one.violation is Violation.PREFIX_REWRITTEN]
    assert len(rewritten) >= 20


def test_a_counterexample_points_at_the_first_character_that_differs() -> None:
    family = replace(get_family("qwen3"), fixed_kwargs={"clear_thinking": True})
    messages = (
        _message("user", "one"),
        _message("assistant", "1"),
        _message("user", "two"),
    )
    found = find_counterexample(family_renderer(family), _conversation(*messages))
    before = "<|im_start|>user\none<|im_end|>\n<|im_start|>assistant\n"
    assert found == Counterexample(
        conversation=_conversation(*messages),
        violation=Violation.PREFIX_REWRITTEN,
        turn_end=2,
        state_end=3,
        at=len(before),
        expected=before[-40:] + "<think>\n\n</think>\n\n1<|im_end|>\n",
        actual=before[-40:] + "1<|im_end|>\n<|im_start|>user\ntwo<|im_end|>"[:40],
    )


def test_a_suffix_that_depends_on_earlier_messages_is_found() -> None:
    # The number of messages is no part of what a synthetic base has in common with the real history.
    renderer = _renderer(
        get_family("qwen3"),
        ("turn(message.role, content)", "turn(message.role, content ~ loop.index)"),
    )
    messages = (
        _message("user", "a"),
        _message("user", "b"),
        _message("assistant", "1"),
        _message("user", "c"),
    )
    found = find_counterexample(renderer, _conversation(*messages))
    assert found is not None
    assert found.violation is Violation.SUFFIX_DIFFERS
    assert (found.turn_end, found.state_end) == (3, 4)
    assert found.expected[40] == "4"
    assert found.actual[40] == "3"


def test_pictures_keep_their_numbers_in_a_suffix() -> None:
    picture = {"type": "image", "image": "x"}
    messages: tuple[Message, ...] = (
        {"role": "user", "content": [picture, {"type": "video", "video": "v"}]},
        _message("assistant", "1"),
        {"role": "user", "content": [picture]},
    )
    conversation = _conversation(*messages, kwargs={"add_vision_id": True})
    assert find_counterexample(family_renderer(get_family("qwen36")), conversation) is None


def test_states_stop_before_a_role_that_the_family_does_not_append() -> None:
    family = replace(get_family("qwen3"), append_roles=get_family("qwen35").append_roles)
    renderer = _renderer(family, ("{%- if tools %}", "{{- messages | length if loop_guard }}{%- if tools %}"))
    rewriting = replace(renderer.family, fixed_kwargs={"clear_thinking": False, "loop_guard": True})
    late_system = _conversation(
        _message("user", "a"), _message("assistant", "1"), _message("system", "b"), _message("user", "c")
    )
    no_system = _conversation(_message("user", "a"), _message("assistant", "1"), _message("user", "c"))
    assert find_counterexample(Renderer(rewriting, renderer.template), late_system) is None
    assert find_counterexample(Renderer(rewriting, renderer.template), no_system) is not None


def test_a_state_inside_a_run_of_tool_results_is_no_state() -> None:
    family = get_family("qwen3")
    rewriting = _renderer(family, ("{%- if tools %}", "{{- messages | length }}{%- if tools %}"))
    calls: list[JsonObject] = [{"id": str(n), "function": {"name": "f", "arguments": {}}} for n in range(2)]
    found = find_counterexample(
        rewriting,
        _conversation(
            _message("user", "a"),
            _message("assistant", "", tool_calls=calls),
            _message("tool", "1"),
            _message("tool", "2"),
        ),
    )
    assert found is not None
    assert (found.turn_end, found.state_end) == (2, 4)


@pytest.mark.parametrize(
    ("left", "right", "at"),
    [("", "", 0), ("ab", "ab", 2), ("ab", "abc", 2), ("abc", "ab", 2), ("xbc", "abc", 0)],
)
def test_the_first_difference_is_an_index_or_the_shorter_length(left: str, right: str, at: int) -> None:
    assert first_difference(left, right) == at
