"""Message normalisation."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from titocli.errors import InvalidMessages
from titocli.families.family import ToolCallGrammar
from titocli.families.messages import normalise_messages, normalise_tools, tool_names
from titocli.families.registry import BUILT_IN, get_family
from titocli.jsonvalue import Tool

FAMILIES = [name for name in BUILT_IN if name != "default"]


def one(family: str, **message: Any) -> Any:
    return normalise_messages(get_family(family), [message])[0]


def calls(arguments: Any) -> list[Any]:
    return [{"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("", ""),
        ("a", "a"),
        ([], ""),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        ([{"text": "a"}], "a"),
    ],
)
def test_content_becomes_text(family: str, content: Any, text: str) -> None:
    assert one(family, role="user", content=content)["content"] == text
    tool = normalise_messages(get_family(family), [{"role": "user"}, {"role": "tool", "content": content}])
    assert tool[1]["content"] == text


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("arguments", "parsed"),
    [
        ('{"b": 1, "a": [true, null, "é"]}', {"b": 1, "a": [True, None, "é"]}),
        ({"b": 1}, {"b": 1}),
        ("", {}),
        (None, {}),
        ("{}", {}),
    ],
)
def test_arguments_become_an_object(family: str, arguments: Any, parsed: Any) -> None:
    message = one(family, role="assistant", content="", tool_calls=calls(arguments))

    assert message["tool_calls"][0]["function"]["arguments"] == parsed


PRINT_JSON = (ToolCallGrammar.HERMES_JSON, ToolCallGrammar.KIMI_SECTIONS)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("arguments", ['{"a":', "[1]", "3", "plain", '"x"', "{" * 100_000])
def test_text_that_is_no_object_stays_verbatim_or_is_the_one_argument(family: str, arguments: str) -> None:
    message = one(family, role="assistant", tool_calls=calls(arguments))

    kept = get_family(family).parsers.tool_call in PRINT_JSON
    expected = arguments if kept else {"arguments": arguments}
    assert message["tool_calls"][0]["function"]["arguments"] == expected


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("arguments", [[1], 3, True])
def test_arguments_that_are_neither_text_nor_object_are_refused(family: str, arguments: Any) -> None:
    with pytest.raises(InvalidMessages) as refused:
        one(family, role="assistant", tool_calls=calls(arguments))

    assert refused.value.details == {"message_index": 0}
    assert refused.value.hint == "arguments are an object, or the text of one"


@pytest.mark.parametrize("arguments", [" ", "null", "\n"])
def test_nothing_at_all_is_the_empty_object(arguments: str) -> None:
    message = one("qwen35", role="assistant", tool_calls=calls(arguments))

    assert message["tool_calls"][0]["function"]["arguments"] == {}


def test_a_key_that_comes_twice_is_kept_where_text_can_be_and_else_the_last_counts() -> None:
    twice = '{"a": 1, "b": {"c": 1, "c": 2}, "a": 3}'

    def arguments(family: str) -> Any:
        return one(family, role="assistant", tool_calls=calls(twice))["tool_calls"][0]["function"][
            "arguments"
        ]

    assert arguments("qwen3") == twice
    assert arguments("qwen35") == {"a": 3, "b": {"c": 2}}


def test_a_call_without_the_function_wrapper_is_read() -> None:
    call = {"name": "f", "arguments": "{}"}

    assert one("qwen3", role="assistant", tool_calls=[call])["tool_calls"] == [{"name": "f", "arguments": {}}]


def reasoning(family: str = "qwen3", **message: Any) -> tuple[Any, Any]:
    normal = one(family, role="assistant", **message)
    assert "reasoning" not in normal
    return normal.get("reasoning_content"), normal["content"]


def test_reasoning_is_read_under_its_newer_name() -> None:
    assert reasoning(reasoning="r") == ("r", "")
    assert reasoning(reasoning="r", reasoning_content="") == ("r", "")
    assert reasoning(reasoning="r", reasoning_content="own") == ("own", "")
    assert reasoning(reasoning="", reasoning_content=None) == ("", "")
    assert reasoning(reasoning=None, reasoning_content=None) == (None, "")
    assert reasoning(reasoning_content=[{"type": "text", "text": "a"}, {"text": "b"}]) == ("ab", "")


def test_reasoning_that_is_no_text_is_refused() -> None:
    for wrong in (3, {"text": "a"}, [3]):
        with pytest.raises(InvalidMessages):
            one("qwen3", role="assistant", reasoning_content=wrong)


INLINE = "<think>\nstep\n</think>\n\nans</think>x"


def test_think_tags_before_an_answer_are_its_reasoning() -> None:
    assert reasoning(content=INLINE) == ("step", "ans</think>x")
    assert reasoning(content="\n <think></think>") == ("", "")
    assert reasoning("kimi25", content="<think>step</think>ans") == ("step", "ans")
    assert reasoning(content=[{"type": "text", "text": INLINE}]) == ("step", "ans</think>x")


def test_think_tags_beside_the_same_reasoning_are_dropped_and_beside_another_are_the_answer() -> None:
    assert reasoning(content=INLINE, reasoning_content="step\n") == ("step\n", "ans</think>x")
    assert reasoning(content=INLINE, reasoning_content="other") == ("other", INLINE)
    assert reasoning(content=INLINE, reasoning_content="") == ("", INLINE)
    assert reasoning(content="<think> </think>a", reasoning_content=" ") == (" ", "<think> </think>a")


def test_text_that_mentions_think_tags_is_left_whole() -> None:
    assert reasoning(content="say </think>") == (None, "say </think>")
    assert reasoning(content="say <think>a</think>") == (None, "say <think>a</think>")
    assert reasoning(content="<think>open") == (None, "<think>open")
    assert one("qwen3", role="user", content=INLINE)["content"] == INLINE
    assert reasoning("inkling", content=INLINE) == (None, INLINE)


def test_members_that_are_null_are_missing() -> None:
    normal = one("kimi25", role="user", content="x", name=None, tool_calls=None)

    assert normal == {"role": "user", "content": "x"}


def test_a_conversation_that_starts_with_a_tool_result_is_refused() -> None:
    for family in FAMILIES:
        with pytest.raises(InvalidMessages) as refused:
            one(family, role="tool", content="late", tool_call_id="functions.f:9")
        assert refused.value.details == {"message_index": 0}


def test_a_kimi_call_needs_its_id() -> None:
    call = {"type": "function", "function": {"name": "f", "arguments": "{}"}}

    with pytest.raises(InvalidMessages) as refused:
        one("kimi25", role="assistant", tool_calls=[call])
    assert "functions.NAME:INDEX" in (refused.value.hint or "")
    assert one("qwen3", role="assistant", tool_calls=[call])["tool_calls"]


def test_a_developer_is_a_system_message() -> None:
    assert one("qwen3", role="developer", content="x")["role"] == "system"


def test_the_input_is_left_as_it_was() -> None:
    messages = [{"role": "assistant", "content": None, "tool_calls": calls('{"a": 1}'), "extra": 1}]
    before = deepcopy(messages)
    normal = normalise_messages(get_family("qwen3"), messages)

    assert messages == before
    assert normal[0]["extra"] == 1


@pytest.mark.parametrize(
    "message",
    [
        "text",
        None,
        {"content": "no role"},
        {"role": 3, "content": ""},
        {"role": "robot", "content": ""},
        {"role": "user", "content": 5},
        {"role": "user", "content": {"text": "a"}},
        {"role": "user", "content": ["text"]},
        {"role": "user", "content": [{"type": "text"}]},
        {"role": "user", "content": [{"type": "audio", "audio": "x"}]},
        {"role": "user", "content": [{"type": 3}]},
        {"role": "assistant", "tool_calls": "f()"},
        {"role": "assistant", "tool_calls": ["f"]},
        {"role": "assistant", "tool_calls": [{"function": {}}]},
        {"role": "assistant", "tool_calls": [{"function": "f"}]},
    ],
)
def test_a_bad_message_is_refused_with_its_index(message: Any) -> None:
    with pytest.raises(InvalidMessages) as refused:
        normalise_messages(get_family("qwen3"), [{"role": "user", "content": "ok"}, message])

    assert refused.value.details["message_index"] == 1
    assert "message 1 " in refused.value.message


def test_images_are_for_families_that_print_them() -> None:
    image = [{"type": "image_url", "image_url": {"url": "x"}}]

    assert one("qwen35", role="user", content=image)["content"] == image
    with pytest.raises(InvalidMessages):
        one("qwen3", role="user", content=image)


def test_tools_keep_their_keys_and_order() -> None:
    tool: Tool = {"type": "function", "function": {"parameters": {"z": 1, "a": 2}, "name": "f", "x": "é"}}

    assert normalise_tools([tool]) == [tool]
    assert normalise_tools([{"name": "f"}]) == [{"type": "function", "function": {"name": "f"}}]
    assert normalise_tools(None) == normalise_tools([]) == []
    assert tool_names([tool]) == ("f",)
