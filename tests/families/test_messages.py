"""Message normalisation."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from titocli.errors import InvalidMessages
from titocli.families.messages import normalise_messages, normalise_tools, tool_names
from titocli.families.registry import BUILT_IN, get_family

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
    assert one(family, role="tool")["content"] == ""


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


@pytest.mark.parametrize("arguments", ['{"a":', "[1]", "3", "plain"])
def test_arguments_that_are_no_object_stay_verbatim_or_are_refused(arguments: str) -> None:
    kept = one("qwen3", role="assistant", tool_calls=calls(arguments))
    assert kept["tool_calls"][0]["function"]["arguments"] == arguments

    with pytest.raises(InvalidMessages):
        one("qwen35", role="assistant", tool_calls=calls(arguments))


def test_reasoning_is_read_under_its_newer_name() -> None:
    assert one("qwen3", role="assistant", reasoning="r")["reasoning_content"] == "r"
    assert one("qwen3", role="assistant", reasoning="r", reasoning_content="")["reasoning_content"] == "r"
    assert (
        one("qwen3", role="assistant", reasoning="r", reasoning_content="own")["reasoning_content"] == "own"
    )


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
    tool = {"type": "function", "function": {"parameters": {"z": 1, "a": 2}, "name": "f", "x": "é"}}

    assert normalise_tools([tool]) == [tool]
    assert normalise_tools([{"name": "f"}]) == [{"type": "function", "function": {"name": "f"}}]
    assert normalise_tools(None) == normalise_tools([]) == []
    assert tool_names([tool]) == ("f",)
