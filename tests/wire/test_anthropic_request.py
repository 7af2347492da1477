"""Anthropic requests, read: what is taken, mapped, left out and refused."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.generated_count import generated_count
from titocli.errors import InvalidMessages, InvalidTools, TitoError, UnsupportedRequest
from titocli.families.registry import get_family
from titocli.wire.anthropic_replay import as_stored
from titocli.wire.anthropic_request import MessagesRequest, counted_request, messages_request

QWEN = get_family("qwen3")
TOOL = {"name": "f", "description": "d", "input_schema": {"type": "object"}}
USE = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "r"}


def body(*messages: Any, **more: Any) -> dict[str, Any]:
    said = list(messages) or [{"role": "user", "content": "u"}]
    return {"model": "m", "max_tokens": 5, "messages": said, **more}


def converted(*messages: Any, **more: Any) -> list[Any]:
    return list(messages_request(body(*messages, **more), QWEN).turn.messages)  # type: ignore[arg-type] # a request's messages are any JSON


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


def after_call(*content: Any) -> list[Any]:
    """What a user message says after a call, in titocli's shape."""
    return converted(user(text("u")), {"role": "assistant", "content": [USE]}, user(*content))[2:]


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **more}


@pytest.mark.case("c01")
@pytest.mark.parametrize("order", [(text("note"), RESULT), (RESULT, text("note"))])
def test_a_tool_result_comes_before_the_text_beside_it(order: tuple[Any, ...]) -> None:
    assert after_call(*order) == [
        {"role": "tool", "tool_call_id": "toolu_1", "content": "r"},
        {"role": "user", "content": "note"},
    ]


@pytest.mark.case("c25")
def test_text_typed_while_a_tool_ran_is_one_user_turn_after_the_result() -> None:
    assert after_call(RESULT, text("KEEP-1"), text("KEEP-2")) == [
        {"role": "tool", "tool_call_id": "toolu_1", "content": "r"},
        {"role": "user", "content": "KEEP-1KEEP-2"},
    ]


@pytest.mark.case("c02")
def test_a_failed_tool_is_an_ordinary_result() -> None:
    failed = {**RESULT, "is_error": True, "content": [text("exit 2")]}

    assert after_call(failed) == [{"role": "tool", "tool_call_id": "toolu_1", "content": "exit 2"}]


@pytest.mark.case("c02")
@pytest.mark.case("c03")
@pytest.mark.parametrize("content", [{}, {"content": None}, {"content": []}, {"content": ""}])
def test_a_result_without_content_is_empty(content: dict[str, Any]) -> None:
    bare = {"type": "tool_result", "tool_use_id": "toolu_1", **content}

    assert after_call(bare) == [{"role": "tool", "tool_call_id": "toolu_1", "content": ""}]


@pytest.mark.case("c03")
@pytest.mark.parametrize("kind", ["tool_reference", "search_result", "document", "image", "robot"])
def test_a_result_block_that_is_no_text_is_refused_by_its_path(kind: str) -> None:
    with pytest.raises(UnsupportedRequest, match=kind) as refused:
        after_call({**RESULT, "content": [text("x"), {"type": kind, "tool_name": "grep"}]})

    assert refused.value.details["param"] == "messages[2].content[0].content[1]"


@pytest.mark.case("c10")
@pytest.mark.parametrize("signature", [{"signature": "abc"}, {"signature": ""}, {}])
def test_signatures_and_redacted_thoughts_stay_out_of_the_messages(signature: dict[str, str]) -> None:
    thought = {"type": "thinking", "thinking": "t", **signature}
    redacted = {"type": "redacted_thinking", "data": "Zm9v"}
    said = converted(
        user(text("u")), {"role": "assistant", "content": [thought, redacted, text("a")]}, user(text("v"))
    )

    assert said[1] == {"role": "assistant", "content": "a", "reasoning_content": "t"}


@pytest.mark.case("c11")
def test_thoughts_between_texts_are_joined_and_none_is_lost() -> None:
    thoughts = [{"type": "thinking", "thinking": said} for said in ("t1", "", "t2")]
    answer = [thoughts[0], text("x"), thoughts[1], thoughts[2], USE]
    (said,) = converted(user(text("u")), {"role": "assistant", "content": answer}, user(RESULT))[1:2]

    assert (said["reasoning_content"], said["content"]) == ("t1\nt2", "x")
    assert said["tool_calls"][0]["function"] == {"name": "f", "arguments": {}}


@pytest.mark.case("c24")
@pytest.mark.parametrize(
    ("system", "said"),
    [
        ("s1\ns2", ["s1\ns2"]),
        ([text("s1"), text("s2")], ["s1s2"]),
        ([text("s1")], ["s1"]),
        ("s1", ["s1"]),
        ([], []),
        ([text("")], []),
        ("", []),
        (None, []),
    ],
)
def test_system_text_has_one_join_rule_and_none_is_no_message(system: Any, said: list[str]) -> None:
    messages = converted(system=system)

    assert messages == [
        *({"role": "system", "content": one} for one in said),
        {"role": "user", "content": "u"},
    ]


def test_one_block_of_text_is_the_text() -> None:
    assert converted(user(text("u", cache_control={"type": "ephemeral"}))) == converted(
        {"role": "user", "content": "u"}
    )


@pytest.mark.case("c09")
def test_what_concerns_anthropics_service_alone_changes_nothing() -> None:
    marked = {"cache_control": {"type": "ephemeral"}}
    plain = messages_request(body(user(text("u")), system="s", tools=[TOOL]), QWEN)
    decorated = messages_request(
        body(
            {**user({**text("u"), **marked, "citations": None}), "id": "x"},
            system=[{**text("s"), **marked}],
            tools=[{**TOOL, **marked, "defer_loading": False, "strict": True, "type": "custom"}],
            metadata={"user_id": "x"},
            context_management={"edits": [{"type": "clear_thinking_20251015"}]},
            service_tier="auto",
            betas=["some-beta"],
            container=None,
            output_config={},
            store=True,
            a_field_of_tomorrow={"deep": [1]},
        ),
        QWEN,
    )

    assert decorated == plain
    named = {"role": "user", "content": "u", "name": "n", "tool_calls": []}
    assert converted(named) == converted({"role": "user", "content": "u"})


@pytest.mark.case("c07")
@pytest.mark.parametrize(
    ("choice", "options"),
    [
        ({"type": "auto"}, {"tool_choice": "auto"}),
        ({"type": "any"}, {"tool_choice": "required"}),
        ({"type": "none"}, {"tool_choice": "none"}),
        ({"type": "tool", "name": "f"}, {"tool_choice": {"type": "function", "function": {"name": "f"}}}),
        (
            {"type": "auto", "disable_parallel_tool_use": True},
            {"tool_choice": "auto", "parallel_tool_calls": False},
        ),
    ],
)
def test_tool_choice_is_an_option_and_changes_nothing_else(choice: Any, options: dict[str, Any]) -> None:
    chosen = messages_request(body(tools=[TOOL], tool_choice=choice), QWEN).turn
    plain = messages_request(body(tools=[TOOL]), QWEN).turn

    assert chosen.options == {"max_tokens": 5, **options}
    assert (chosen.messages, chosen.tools) == (plain.messages, plain.tools)


def test_sampling_goes_to_the_engine_in_openais_words() -> None:
    asked = body(temperature=0.5, top_p=0.9, top_k=7, stop_sequences=["##", "\n"], seed=3)
    read = messages_request(asked, QWEN)

    assert read.turn.options == {
        "max_tokens": 5,
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 7,
        "stop": ["##", "\n"],
        "seed": 3,
    }
    assert (read.stop_sequences, read.stream) == (("##", "\n"), False)
    assert messages_request(body(stream=True), QWEN).stream
    assert "top_k" not in messages_request(body(top_k=0), QWEN).turn.options
    assert messages_request(body(temperature=0), QWEN).turn.options["temperature"] == 0


def test_tools_have_name_description_and_schema_in_openais_shape() -> None:
    (tool,) = messages_request(body(tools=[TOOL]), QWEN).turn.tools  # type: ignore[misc] # one tool was given

    assert tool == {
        "type": "function",
        "function": {"name": "f", "description": "d", "parameters": {"type": "object"}},
    }
    assert messages_request(body(), QWEN).turn.tools is None


@pytest.mark.parametrize(
    ("family", "thinking", "kwargs"),
    [
        ("qwen3", {"type": "enabled", "budget_tokens": 1024}, {"enable_thinking": True}),
        ("qwen3", {"type": "disabled"}, {"enable_thinking": False}),
        ("qwen3", {"type": "adaptive"}, {}),
        ("default", {"type": "disabled"}, {}),
    ],
)
def test_thinking_is_the_familys_kwarg(family: str, thinking: Any, kwargs: dict[str, Any]) -> None:
    assert messages_request(body(thinking=thinking), get_family(family)).turn.template_kwargs == kwargs


@pytest.mark.parametrize(
    ("family", "effort", "told"),
    [
        ("qwen4exp", "low", "low"),
        ("qwen3", "low", None),  # has no efforts: a wish that is not heard
        ("qwen4exp", "high", "xhigh"),  # as near as medium, and the higher
        ("qwen4exp", "max", "xhigh"),
        ("deepseekv4", "low", "high"),
        ("deepseekv4", "xhigh", "max"),
        ("deepseekv41", "xhigh", "xhigh"),
        ("deepseekv41", "max", "max"),
        ("inkling", "low", "low"),
    ],
)
def test_effort_is_the_familys_where_it_has_one(family: str, effort: str, told: str | None) -> None:
    asked = body(output_config={"effort": effort})

    assert messages_request(asked, get_family(family)).turn.reasoning_effort == told


def test_effort_stands_as_it_is_in_a_family_that_takes_any() -> None:
    family = replace(QWEN, turn_kwargs={"reasoning_effort": ()})

    assert messages_request(body(output_config={"effort": "max"}), family).turn.reasoning_effort == "max"


def test_a_json_schema_is_asked_of_the_engine() -> None:
    schema = {"type": "object"}
    read = messages_request(body(output_config={"format": {"type": "json_schema", "schema": schema}}), QWEN)

    assert read.turn.options["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "output", "schema": schema, "strict": True},
    }


def test_a_later_system_message_stays_in_its_place() -> None:
    later = {"role": "system", "content": [text("s2")]}
    said = converted(user(text("u")), {"role": "assistant", "content": "a"}, later, user(text("v")))

    assert [message["role"] for message in said] == ["user", "assistant", "system", "user"]
    assert said[2] == {"role": "system", "content": "s2"}


BILLING = "x-anthropic-billing-header: cc_version=2.1.77; cch=0a1b2;"
LEFT = "<total_tokens>199000 tokens left</total_tokens>"


@pytest.mark.parametrize(
    ("system", "said"),
    [
        ([text(BILLING), text("You are C.")], "You are C."),
        (f"{BILLING}\nYou are C.", "You are C."),
        ([text("You are C.\n"), text(LEFT)], "You are C.\n"),
        (f"Mention {BILLING}", f"Mention {BILLING}"),  # not the header of its block
        ("<total_tokens>N</total_tokens>", "<total_tokens>N</total_tokens>"),
    ],
)
def test_volatile_system_text_is_stripped_and_nothing_else(system: Any, said: str) -> None:
    assert converted(system=system)[0] == {"role": "system", "content": said}


def test_volatile_text_alone_is_no_message() -> None:
    assert converted(system=[text(BILLING)]) == [{"role": "user", "content": "u"}]
    assert converted(user(text("u")), {"role": "system", "content": LEFT}, user(text("v"))) == [
        {"role": "user", "content": "u"},
        {"role": "user", "content": "v"},
    ]


def test_what_a_user_says_is_never_stripped() -> None:
    assert converted(user(text(BILLING), text(LEFT)))[0]["content"] == BILLING + LEFT


ASSISTANT = {"role": "assistant", "content": [USE]}
U = user(text("u"))
BAD: list[tuple[str, dict[str, Any], type[TitoError]]] = [
    ("messages[0]", body("hello"), InvalidMessages),
    ("messages[0].role", body({"role": "tool", "content": "x"}), InvalidMessages),
    ("messages[0].role", body({"role": 5, "content": "x"}), InvalidMessages),
    ("messages[0].content", body({"role": "user", "content": 5}), InvalidMessages),
    ("messages[0].content[0]", body(user("x")), InvalidMessages),
    ("messages[0].content[0].text", body(user({"type": "text"})), InvalidMessages),
    ("messages[0].content[0]", body(user({"type": "image", "source": {}})), UnsupportedRequest),
    ("messages[0].content[0]", body(user({"type": "document"})), UnsupportedRequest),
    ("messages[0].content[0]", body(user(USE)), UnsupportedRequest),
    ("system[0]", body(system=[{"type": "image"}]), UnsupportedRequest),
    ("system", body(system=5), InvalidMessages),
    (
        "messages[1].content[0].input",
        body(U, {"role": "assistant", "content": [{**USE, "input": 3}]}, U),
        InvalidMessages,
    ),
    (
        "messages[1].content[0].name",
        body(U, {"role": "assistant", "content": [{**USE, "name": ""}]}, U),
        InvalidMessages,
    ),
    (
        "messages[1].content[0].id",
        body(U, {"role": "assistant", "content": [{**USE, "id": None}]}, U),
        InvalidMessages,
    ),
    ("messages[1].content", body(U, {"role": "assistant", "content": [USE, USE]}, U), InvalidMessages),
    ("max_tokens", {"messages": [U]}, UnsupportedRequest),
    ("max_tokens", body(max_tokens=0), UnsupportedRequest),
    ("max_tokens", body(max_tokens=True), UnsupportedRequest),
    ("max_tokens", body(max_tokens="5"), UnsupportedRequest),
    ("temperature", body(temperature="hot"), UnsupportedRequest),
    ("temperature", body(temperature=-1), UnsupportedRequest),
    ("top_p", body(top_p=1.5), UnsupportedRequest),
    ("top_k", body(top_k=1.5), UnsupportedRequest),
    ("stop_sequences", body(stop_sequences="##"), UnsupportedRequest),
    ("stop_sequences", body(stop_sequences=[""]), UnsupportedRequest),
    ("stream", body(stream="yes"), UnsupportedRequest),
    ("model", body(model=5), UnsupportedRequest),
    ("input_ids", body(input_ids=[1]), UnsupportedRequest),
    ("mcp_servers", body(mcp_servers=[{"url": "x"}]), UnsupportedRequest),
    ("thinking.type", body(thinking={"type": "deep"}), UnsupportedRequest),
    ("thinking.type", body(thinking="on"), UnsupportedRequest),
    ("chat_template_kwargs", body(chat_template_kwargs="x"), UnsupportedRequest),
    ("output_config", body(output_config="x"), UnsupportedRequest),
    ("output_config.effort", body(output_config={"effort": 5}), UnsupportedRequest),
    ("output_config.effort", body(output_config={"effort": "none"}), UnsupportedRequest),
    ("output_config.task_budget", body(output_config={"task_budget": {}}), UnsupportedRequest),
    ("output_config.format", body(output_config={"format": {"type": "regex"}}), UnsupportedRequest),
    ("tool_choice", body(tool_choice="auto"), UnsupportedRequest),
    ("tool_choice.type", body(tool_choice={"type": "some"}), UnsupportedRequest),
    ("tool_choice.name", body(tool_choice={"type": "tool"}), UnsupportedRequest),
    ("tool_choice.name", body(tools=[TOOL], tool_choice={"type": "tool", "name": "g"}), UnsupportedRequest),
    ("tools", body(tools="x"), InvalidTools),
    ("tools", body(tools=[TOOL, TOOL]), InvalidTools),
    ("tools[0]", body(tools=["x"]), InvalidTools),
    ("tools[0].input_schema", body(tools=[{"name": "f"}]), InvalidTools),
    ("tools[0].description", body(tools=[{**TOOL, "description": 5}]), InvalidTools),
]


@pytest.mark.parametrize(
    ("param", "asked", "error"), BAD, ids=[f"{at}-{n}" for n, (at, _, _) in enumerate(BAD)]
)
def test_what_cannot_be_served_is_refused_by_its_path(
    param: str, asked: dict[str, Any], error: type[TitoError]
) -> None:
    with pytest.raises(error) as refused:
        messages_request(asked, QWEN)

    assert refused.value.details["param"] == param


@pytest.mark.regression("R25")
def test_a_server_tool_is_refused_by_name_and_type() -> None:
    with pytest.raises(UnsupportedRequest, match=r"'web_search' \(type 'web_search_20250305'\)"):
        messages_request(body(tools=[{"type": "web_search_20250305", "name": "web_search"}]), QWEN)


@pytest.mark.regression("R25")
def test_thinking_is_refused_where_the_family_does_not_think() -> None:
    with pytest.raises(UnsupportedRequest, match="does not think"):
        messages_request(body(thinking={"type": "enabled", "budget_tokens": 1024}), get_family("default"))


@pytest.mark.case("c22")
@pytest.mark.parametrize("content", ["The answer is", [text("The answer is")], [USE]])
def test_a_started_answer_is_refused(content: Any) -> None:
    with pytest.raises(UnsupportedRequest, match="last message"):
        messages_request(body(U, {"role": "assistant", "content": content}), QWEN)


@pytest.mark.case("c23")
@pytest.mark.parametrize(
    ("said", "at"),
    [
        ([user({**RESULT, "tool_use_id": "toolu_9"})], 2),
        ([user(RESULT, RESULT)], 2),
        ([user(RESULT), user(RESULT)], 3),
    ],
)
def test_a_result_without_a_call_or_a_second_one_is_refused_naming_its_id(said: list[Any], at: int) -> None:
    with pytest.raises(InvalidMessages, match=r"'toolu_[19]'") as refused:
        messages_request(body(U, ASSISTANT, *said), QWEN)

    assert str(refused.value.details["param"]).startswith(f"messages[{at}]")


@pytest.mark.case("c23")
def test_an_interrupted_call_stays_without_a_result() -> None:
    said = converted(U, ASSISTANT, user(text("stop, do something else")))

    assert [message["role"] for message in said] == ["user", "assistant", "user"]


@pytest.mark.case("c15")
def test_an_id_that_comes_again_is_answered_again() -> None:
    said = converted(U, ASSISTANT, user(RESULT), ASSISTANT, user({**RESULT, "content": "again"}))

    assert [message["content"] for message in said if message["role"] == "tool"] == ["r", "again"]


def test_counting_needs_no_length_and_asks_for_no_options() -> None:
    bare: dict[str, Any] = {"model": "m", "messages": [U], "tools": [TOOL]}
    asked = counted_request(bare, QWEN)

    assert asked.options == {}
    assert asked == counted_request(body(U, tools=[TOOL], temperature=1), QWEN)
    ended = counted_request(body(U, {"role": "assistant", "content": "a"}), QWEN).messages
    assert ended == [{"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}]


@pytest.mark.parametrize("read", [messages_request, counted_request])
def test_no_text_of_a_message_stands_in_an_error(read: Callable[..., Any]) -> None:
    secret = user({"type": "image", "source": {"data": "SECRET"}})
    with pytest.raises(UnsupportedRequest) as refused:
        read(body(secret), QWEN)

    assert "SECRET" not in f"{refused.value} {refused.value.hint} {refused.value.details}"


_JUNK = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 10**30), st.floats(), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(["type", "text", "x"]), inner)
    ),
    max_leaves=4,
)


@st.composite
def spoilt(draw: st.DrawFn, value: Any) -> Any:
    """The value with one of its parts, anywhere, replaced or left out."""
    if isinstance(value, dict) and value and draw(st.integers(0, 4)):
        key = draw(st.sampled_from(sorted(value)))
        kept = {name: part for name, part in value.items() if name != key}
        return kept if draw(st.integers(0, 5)) == 0 else {**kept, key: draw(spoilt(value[key]))}
    if isinstance(value, list) and value and draw(st.integers(0, 4)):
        at = draw(st.integers(0, len(value) - 1))
        return [*value[:at], draw(spoilt(value[at])), *value[at + 1 :]]
    return draw(_JUNK)


RICH = body(
    U,
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "t"}, text("a"), USE]},
    {"role": "system", "content": [text("s")]},
    user({**RESULT, "content": [text("r")], "is_error": False}, text("v")),
    system=[text("s")],
    tools=[TOOL],
    tool_choice={"type": "tool", "name": "f", "disable_parallel_tool_use": False},
    thinking={"type": "enabled", "budget_tokens": 1024},
    output_config={"effort": "low", "format": {"type": "json_schema", "schema": {}}},
    stop_sequences=["x"],
    temperature=1,
    top_p=1,
    top_k=1,
    stream=False,
    chat_template_kwargs={},
)


#: The client's own faults, with status 400.
REFUSALS = (InvalidMessages, InvalidTools, UnsupportedRequest)


@settings(max_examples=generated_count(), deadline=None)
@given(spoilt(RICH), st.sampled_from(["qwen3", "qwen4exp", "default"]))
def test_a_spoilt_body_is_read_or_refused_and_nothing_else(spoilt_body: Any, family: str) -> None:
    assume(isinstance(spoilt_body, dict))
    for read in (messages_request, counted_request):
        with suppress(*REFUSALS):
            asked = read(spoilt_body, get_family(family))
            turn = asked.turn if isinstance(asked, MessagesRequest) else asked
            stored = as_stored(list(turn.messages), [])  # type: ignore[arg-type] # a request's messages are any JSON
            assert [message["role"] for message in stored] == [one["role"] for one in turn.messages]  # type: ignore[union-attr,index,call-overload] # read as messages


def test_the_body_that_is_spoilt_is_read_when_it_is_not() -> None:
    assert len(list(messages_request(RICH, get_family("qwen4exp")).turn.messages)) == 6  # type: ignore[arg-type] # a request's messages are any JSON
