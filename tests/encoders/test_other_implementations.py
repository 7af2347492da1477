"""What other implementations print where they agree with SGLang's encoders, and where they do not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest

from tests.assets import native_template
from tests.encoders.chats import our_text
from tests.encoders.reference import Reference, running_reference
from tests.generated_count import generated_count
from titocli.errors import TemplateRaised
from titocli.families.chat_template import compile_template
from titocli.families.family import Family
from titocli.families.kwargs import resolve_kwargs
from titocli.families.messages import normalise_messages, normalise_tools
from titocli.families.registry import get_family
from titocli.families.template_source import template_from_file
from titocli.jsonvalue import JsonObject, Message, Tool
from titocli.verify.conversations import generate
from titocli.verify.tool_samples import TOOLS

pytestmark = pytest.mark.assets

SEED = 3
BOS = "<｜begin▁of▁sentence｜>"
USER: Message = {"role": "user", "content": "u"}
THOUGHT: Message = {"role": "assistant", "content": "a", "reasoning_content": "r"}


@pytest.fixture(scope="module")
def reference() -> Iterator[Reference]:
    with running_reference() as running:
        yield running


@pytest.fixture(params=[("deepseekv4", "0731"), ("deepseekv41", None)], ids=["v4", "v41"])
def family(request: pytest.FixtureRequest) -> Family:
    return get_family(*request.param)


def _plain_tools() -> tuple[Tool, ...]:
    """Tools with the members that the reference prints, in its order."""
    tools: Sequence[Any] = TOOLS
    functions = [tool["function"] for tool in tools if tool["function"].get("description")]
    members = ("name", "description", "parameters")
    return tuple(
        {"type": "function", "function": {name: function[name] for name in members}} for function in functions
    )


def _agreed(calls: Sequence[JsonObject]) -> bool:
    return all(calls) and "1e-07" not in json.dumps(calls)


def _calls(messages: Sequence[Mapping[str, Any]]) -> list[JsonObject]:
    return [call["function"]["arguments"] for message in messages for call in message.get("tool_calls", ())]


def test_the_reference_encoder_prints_the_same(reference: Reference, family: Family) -> None:
    """With tools it keeps all reasoning, as the family does, and it opens every assistant turn."""
    compared = 0
    for conversation in generate(family, generated_count(), SEED):
        messages = normalise_messages(family, conversation.messages)
        calls = _calls(messages)
        # It leaves out empty messages, and prints some calls of V4 in its own way.
        empty = any(m["role"] in ("system", "user") and not m["content"] for m in messages)
        if empty or (family.name == "deepseekv4" and not _agreed(calls)):
            continue
        kwargs = resolve_kwargs(family, {"reasoning_effort": "high", **conversation.kwargs})
        kwargs["add_default_bos_token"] = True
        thinking = bool(kwargs.get("thinking", True))
        tools = _plain_tools() if thinking or conversation.index % 2 else ()
        theirs = reference.encode(
            family, messages, tools=tools, thinking=thinking, effort=str(kwargs["reasoning_effort"])
        )
        ours = our_text(family, messages, tools=tools, kwargs=kwargs, generation_prompt=True)
        assert ours == theirs, conversation.index
        compared += 1
    assert compared > generated_count() / 4


def test_where_the_reference_differs(reference: Reference, family: Family) -> None:
    """What the docs say of it, so that a newer one that does otherwise is noticed."""

    def both(messages: list[Message], tools: Sequence[Tool] = ()) -> tuple[str, str]:
        kwargs = resolve_kwargs(family, {"reasoning_effort": "high"})
        ours = our_text(family, messages, tools=tools, kwargs=kwargs, generation_prompt=True)
        return ours, reference.encode(family, messages, tools=tools, thinking=True, effort="high")

    calls: list[JsonObject] = [
        {"id": i, "function": {"name": "f", "arguments": a}} for i, a in (("a", {}), ("b", {"x": 1e-07}))
    ]
    results: list[Message] = [{"role": "tool", "tool_call_id": i, "content": "1"} for i in "ab"]
    ours, theirs = both([USER, {**THOUGHT, "tool_calls": calls}, *results], _plain_tools())
    if family.name == "deepseekv4":
        # No empty line where a call has no arguments, and numbers spelled anew.
        ours = ours.replace('name="f">\n\n</', 'name="f">\n</').replace("1e-07", "1e-7")
    assert theirs == ours
    tool: Tool = {"type": "function", "function": {"parameters": {"type": "object"}, "name": "f"}}
    ours, theirs = both([USER], [tool])
    assert theirs == ours.replace(
        '{"parameters": {"type": "object"}, "name": "f"}',
        '{"name": "f", "description": "", "parameters": {"type": "object"}}',
    )
    # Without tools it cuts history.
    ours, theirs = both([USER, THOUGHT, USER])
    assert theirs == ours.replace("<think>r</think>", "</think>")


def test_the_reference_moves_a_late_system_message_of_v4_and_leaves_that_of_v41(reference: Reference) -> None:
    late: list[Message] = [USER, {"role": "system", "content": "LATE"}, THOUGHT, USER]
    moved = reference.encode(get_family("deepseekv4"), late, tools=(), thinking=True, effort="low")
    assert moved.startswith(f"{BOS}LATE<｜User｜>u")
    left = reference.encode(get_family("deepseekv41"), late, tools=(), thinking=True, effort="low")
    assert "<｜User｜>u<｜System｜>LATE<｜Assistant｜>" in left


@pytest.mark.parametrize(
    ("variant", "port"),
    [("preview", "deepseek_v4_llamacpp"), ("0731", "deepseek_v4_flash_0731_llamacpp")],
)
def test_llama_cpps_templates_of_v4_print_the_same(variant: str, port: str) -> None:
    family = get_family("deepseekv4", variant)
    template = compile_template(template_from_file(native_template(port)))
    compared = 0
    for conversation in generate(family, generated_count(), SEED):
        messages = normalise_messages(family, conversation.messages)
        tools = normalise_tools(conversation.tools)
        # It leaves results in their order, and prints no empty line before tools that stand alone in the head.
        alone = not (messages[0]["role"] == "system" and messages[0]["content"])
        if (tools and alone) or not _results_in_order(messages):
            continue
        kwargs = resolve_kwargs(family, {"thinking": True, **conversation.kwargs})
        bos = BOS if kwargs.get("add_default_bos_token", True) else ""
        prompt = conversation.index % 2 == 0
        theirs = template.render(
            messages=messages, tools=tools, add_generation_prompt=prompt, bos_token=bos, **kwargs
        )
        ours = our_text(family, messages, tools=tools, kwargs=kwargs, generation_prompt=prompt)
        assert ours == theirs, conversation.index
        compared += 1
    assert compared > generated_count() / 4


def test_llama_cpps_template_of_v32_prints_the_same_of_what_it_knows() -> None:
    family = get_family("deepseekv32")
    template = compile_template(template_from_file(native_template("deepseek_v3.2_llamacpp")))
    compared = 0
    for conversation in generate(family, generated_count(), SEED):
        messages = normalise_messages(family, conversation.messages)
        if not _simple(messages):
            continue
        kwargs: dict[str, Any] = {"thinking": True, "drop_thinking": True}
        try:
            ours = our_text(family, messages, kwargs=kwargs, generation_prompt=True)
        except TemplateRaised:
            # It prints an answer without a thought.
            continue
        theirs = template.render(messages=messages, add_generation_prompt=True, bos_token=BOS, **kwargs)
        assert ours == theirs, conversation.index
        compared += 1
    assert compared > generated_count() / 100


def _simple(messages: Sequence[Message]) -> bool:
    """One question after another, with arguments: its template opens turns and prints calls otherwise."""
    roles = [message["role"] for message in messages]
    odd = {("user", "user"), ("assistant", "assistant"), ("system", "assistant"), ("tool", "user")}
    late = "system" in roles[1:]
    return not (
        late or odd & set(pairwise(roles)) or roles[-1] == "assistant" or roles[0] == "assistant"
    ) and all(_calls(messages))


def _results_in_order(messages: Sequence[Message]) -> bool:
    """Whether results follow each other in the order of the calls, whose ids are numbered."""
    return all(
        str(before["tool_call_id"]) < str(after["tool_call_id"])
        for before, after in pairwise(messages)
        if before["role"] == after["role"] == "tool"
    )
