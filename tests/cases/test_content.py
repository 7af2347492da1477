"""Reported cases about content: a07, a08, a10, a22, a23, a24, a32."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cases.rendering import CONTRACTS, LABELS, assistant, call, renderer_of, result, text_of, user
from titocli.errors import InvalidMessages

AFTER_CALL = [user("go"), assistant("", call(arguments="{}"))]


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "tool_calls", "name", "refusal"])
def test_a07_a_null_member_is_a_missing_one(label: str, name: str) -> None:
    text = text_of(label, [user("hi"), assistant("yes", **{name: None}), user("v")])

    assert text == text_of(label, [user("hi"), assistant("yes"), user("v")])
    assert "None" not in text


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("role", ["system", "user", "assistant", "tool"])
def test_a08_text_parts_are_one_text(label: str, role: str) -> None:
    def text(content: Any) -> str:
        before = [] if role == "system" else AFTER_CALL if role == "tool" else [user("u")]
        return text_of(label, [*before, {**result(), "role": role, "content": content}, user("v")])

    parts = [{"type": "text", "text": "uno "}, {"text": "due"}]
    assert text(parts) == text("uno due")
    assert text([]) == text("")


@pytest.mark.parametrize("label", LABELS)
def test_a08_a_part_that_cannot_be_printed_is_refused_by_its_type(label: str) -> None:
    with pytest.raises(InvalidMessages) as refused:
        text_of(label, [user([{"type": "text", "text": "see"}, {"type": "hologram", "hologram": "x"}])])

    assert "'hologram'" in refused.value.message


@pytest.mark.parametrize("label", LABELS)
def test_a10_a_tool_that_said_nothing_has_an_empty_block(label: str) -> None:
    silent = {name: value for name, value in result().items() if name != "content"}
    texts = {text_of(label, [*AFTER_CALL, last], prompt=True) for last in (result(None), result(""), silent)}

    assert len(texts) == 1
    assert "None" not in texts.pop()


@pytest.mark.parametrize("label", LABELS)
def test_a22_whitespace_inside_a_text_is_kept(label: str) -> None:
    inside = "a  b\n\n\tc \u00a0\u2028 d"

    assert inside in text_of(label, [user(inside)])
    assert inside in text_of(label, [user("u"), assistant(inside, reasoning_content="r"), user("v")])


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("content", [None, "", []])
def test_a23_content_before_a_call_may_be_missing_in_every_way(label: str, content: Any) -> None:
    calls = call(arguments={"p": "x"})
    text = text_of(label, [user(), assistant(content, calls, reasoning_content="r"), result("t")])

    assert text == text_of(label, [user(), assistant("", calls, reasoning_content="r"), result("t")])


@pytest.mark.parametrize("label", LABELS)
def test_a24_an_empty_system_message_is_what_the_family_makes_of_it_in_both_spellings(label: str) -> None:
    empty = text_of(label, [{"role": "system", "content": ""}, user()])

    assert empty == text_of(label, [{"role": "system", "content": None}, user()])
    if CONTRACTS[label].name in {"qwen3", "glm47", "kimi25"}:
        assert empty != text_of(label, [user()])


@pytest.mark.parametrize("label", LABELS)
def test_a32_a_lone_surrogate_becomes_the_replacement_character(label: str) -> None:
    messages = json.loads('[{"role": "user", "content": "bad \\ud83d end"}]')
    text = text_of(label, messages)

    assert "bad \ufffd end" in text
    assert renderer_of(label).tokenizer.decode(renderer_of(label).ids(text)) == text
