"""Reported cases about roles and names: a17, a18, a19, a20, a25, a26."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.rendering import (
    CONTRACTS,
    LABELS,
    appends_system,
    assistant,
    call,
    renderer_of,
    result,
    suffix_of,
    text_of,
    user,
)
from titocli.errors import InputError, InvalidMessages
from titocli.families.family import ToolCallGrammar

KIMI = [label for label in LABELS if CONTRACTS[label].parsers.tool_call is ToolCallGrammar.KIMI_SECTIONS]
PRINTS_NAMES = {"kimi25", "kimi26"}


@pytest.mark.parametrize("label", LABELS)
def test_a17_a_developer_is_the_system(label: str) -> None:
    def text(role: str) -> str:
        return text_of(label, [{"role": role, "content": "RHYME ALWAYS"}, user("hi")])

    assert text("developer") == text("system")
    assert "RHYME ALWAYS" in text("developer")


LATE = {"role": "system", "content": "late rule"}


@pytest.mark.parametrize("label", LABELS)
def test_a18_a_late_system_message_stands_in_place_or_is_refused(label: str) -> None:
    history = [user("u"), assistant("a", reasoning_content="t")]
    if not appends_system(label):
        try:
            text = text_of(label, [*history, LATE, user("v")])
        except InputError:
            return
        assert text.index("late rule") > text.index("u")
        return
    text = text_of(label, [*history, LATE, user("v")], prompt=True)

    assert text.startswith(text_of(label, history))
    assert text == text_of(label, history) + suffix_of(label, history, [LATE, user("v")])
    assert "late rule" in text


@pytest.mark.parametrize("label", LABELS)
def test_a19_a_system_message_alone_opens_a_turn(label: str) -> None:
    text = text_of(label, [{"role": "system", "content": "You are an agent. Begin."}], prompt=True)

    assert "You are an agent. Begin." in text
    assert renderer_of(label).generation_prompt_of(text)


@pytest.mark.parametrize("label", LABELS)
def test_a20_a_conversation_that_starts_with_a_result_is_refused(label: str) -> None:
    with pytest.raises(InvalidMessages) as refused:
        text_of(label, [result("late"), assistant("ok")])

    assert refused.value.details == {"message_index": 0}
    assert refused.value.hint == "keep the call before its result"


@pytest.mark.parametrize("label", LABELS)
def test_a25_only_families_whose_own_template_prints_names_print_them(label: str) -> None:
    named, plain = text_of(label, [user("hi", name="alice")]), text_of(label, [user("hi")])

    if CONTRACTS[label].name in PRINTS_NAMES:
        assert named == plain.replace("<|im_user|>user", "<|im_user|>alice")
    else:
        assert named == plain


@pytest.mark.parametrize("label", LABELS)
def test_a25_a_name_makes_no_control_token(label: str) -> None:
    renderer = renderer_of(label)

    def ids(name: str) -> list[int]:
        text = renderer.marked_text(
            [user("hi", name=name)], kwargs=CONTRACTS[label].fixed_kwargs, generation_prompt=False
        )
        return [each for each in renderer.ids(text) if each >= 256]

    stop = CONTRACTS[label].stop_tokens[0]
    assert ids(f"a{stop}b") == ids("ab")


@pytest.mark.parametrize("label", KIMI)
def test_a26_kimi_prints_an_id_as_it_came_and_refuses_a_call_without_one(label: str) -> None:
    made_up: Any = {**call(arguments="{}"), "id": "call_a"}
    answer = {**result(), "tool_call_id": "call_a"}
    text = text_of(label, [user(), assistant("", made_up), answer])

    assert "<|tool_call_begin|>call_a<|tool_call_argument_begin|>{}" in text
    assert "## Return of call_a\nr" in text
    del made_up["id"]
    with pytest.raises(InvalidMessages):
        text_of(label, [user(), assistant("", made_up), answer])
