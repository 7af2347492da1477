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
from tests.cases.sessions import kept, plan_of, turn
from titocli.errors import InputError, InvalidMessages
from titocli.families.call_ids import CallIds
from titocli.families.family import ToolCallGrammar
from titocli.families.kwargs import resolve_kwargs
from titocli.families.messages import normalise_messages
from titocli.families.renderer import Renderer, family_renderer
from titocli.families.tiny import tiny_tokenizer
from titocli.session.history import HistoryPolicy
from titocli.session.session import Session

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
    made_up: Any = {**call(arguments="{}"), "id": "mine-a"}
    answer = {**result(), "tool_call_id": "mine-a"}
    text = text_of(label, [user(), assistant("", made_up), answer])

    assert "<|tool_call_begin|>mine-a<|tool_call_argument_begin|>{}" in text
    assert "## Return of mine-a\nr" in text
    del made_up["id"]
    with pytest.raises(InvalidMessages):
        text_of(label, [user(), assistant("", made_up), answer])


#: A call and its result as the models of Kimi write and read them.
CALLED = "<|tool_call_begin|>{id}<|tool_call_argument_begin|>{arguments}<|tool_call_end|>"
ANSWERED = "<|im_system|>tool<|im_middle|>## Return of {id}\n{text}<|im_end|>"


def calls_of_a_client() -> list[Any]:
    """Three calls in two turns, and a question, with ids of the client's own."""
    made_up = [{**call(name, arguments=arguments), "id": each} for name, arguments, each in CLIENT_CALLS]
    answers = [{**result(f"r{index}"), "tool_call_id": each} for index, (*_, each) in enumerate(CLIENT_CALLS)]
    return [
        user("u"),
        assistant("", *made_up[:2]),
        *answers[:2],
        assistant("", made_up[2]),
        answers[2],
    ]


CLIENT_CALLS = [("get", {"i": 0}, "mine-a"), ("get", {"i": 1}, "mine-b"), ("put", {}, "mine-c")]


def named_text(label: str, messages: list[Any], *, prompt: bool = True) -> str:
    renderer = functions_renderer(label)
    normal = normalise_messages(renderer.family, messages)
    return renderer.text(normal, kwargs=resolve_kwargs(renderer.family), generation_prompt=prompt)


def functions_renderer(label: str) -> Renderer:
    family = CONTRACTS[label]
    return family_renderer(family, tiny_tokenizer(family), call_ids=CallIds.FUNCTIONS)


@pytest.mark.parametrize("label", KIMI)
def test_a26_ids_of_a_client_can_be_written_as_the_models_write_them(label: str) -> None:
    text = named_text(label, calls_of_a_client())
    ids = ["functions.get:0", "functions.get:1", "functions.put:2"]
    arguments = ['{"i": 0}', '{"i": 1}', "{}"]
    calls = [CALLED.format(id=each, arguments=text) for each, text in zip(ids, arguments, strict=True)]
    answers = [ANSWERED.format(id=each, text=f"r{index}") for index, each in enumerate(ids)]
    section = "<|tool_calls_section_begin|>{}<|tool_calls_section_end|><|im_end|>"

    assert section.format(calls[0] + calls[1]) + answers[0] + answers[1] in text
    assert section.format(calls[2]) + answers[2] + "<|im_assistant|>" in text
    assert "mine-" not in text


@pytest.mark.parametrize("label", [label for label in LABELS if label not in KIMI])
def test_a26_a_family_that_prints_no_ids_is_not_touched(label: str) -> None:
    assert named_text(label, calls_of_a_client()) == text_of(label, calls_of_a_client(), prompt=True)


@pytest.mark.parametrize("label", KIMI)
def test_a26_ids_of_the_models_form_stay_and_are_not_given_twice(label: str) -> None:
    """A model that counts from 1 keeps its ids, and the call of the client next to it gets a free one."""
    own = [call("get", 1, arguments={}), {**call("get", arguments={}), "id": "mine"}]
    text = named_text(label, [user(), assistant("", *own), result("r1", "get", 1), result("r2", "get", 1)])

    assert "<|tool_call_begin|>functions.get:1<|" in text
    assert "<|tool_call_begin|>functions.get:2<|" in text


@pytest.mark.parametrize("label", KIMI)
def test_a26_a_message_gets_the_same_ids_on_append_and_what_the_model_sampled_stays(label: str) -> None:
    session = Session(functions_renderer(label), HistoryPolicy.TREE)
    asked = [*calls_of_a_client(), user("more")]
    sampled = {**call("get", arguments="{}"), "id": "odd"}
    made = turn(session, asked, assistant("", sampled))
    client = {**call("put", arguments="{}"), "id": "mine-z"}
    tail = [
        {**result("R"), "tool_call_id": "odd"},
        assistant("", client),
        {**result(), "tool_call_id": "mine-z"},
    ]
    plan = plan_of(session, [*asked, assistant("", sampled), *tail])
    added = session.renderer.tokenizer.decode(plan.prompt_ids[made.token_count :])

    assert kept(session, made, plan)
    assert "## Return of odd\nR" in added
    assert "<|tool_call_begin|>functions.put:4<|" in added
    assert "## Return of functions.put:4" in added
    assert "mine-" not in session.renderer.tokenizer.decode(plan.prompt_ids)
