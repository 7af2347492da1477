"""Rendering a parsed completion gives its text again, by the families' own templates."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.families.parsing import tool
from titocli.families.messages import normalise_messages
from titocli.families.parsers.completion import parse_completion
from titocli.families.registry import get_family
from titocli.families.renderer import Renderer, family_renderer
from titocli.families.tiny import tiny_tokenizer
from titocli.jsonvalue import Message

RENDERERS = {
    name: family_renderer(get_family(name), tiny_tokenizer(get_family(name)))
    for name in ("qwen3", "qwennext", "qwen35", "qwen36", "qwen38small", "qwen4exp")
}
USER = {"role": "user", "content": "Hi"}
TOOLS = [
    tool("f", s={"type": "string"}, i={"type": "integer"}, b={"type": "boolean"}),
    tool("g", a={"type": "array"}, o={"type": ["object", "null"]}, x={}),
]
LINES = st.lists(st.sampled_from(["one", "two  ", "é\u2028", "{}", "<b>", "\n", "\n\n", " ", "天"]))
#: Text that no template trims.
TEXT = LINES.map("".join).map(str.strip)
CALLS = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {},
            optional={"s": st.one_of(TEXT, st.text()), "i": st.integers(), "b": st.booleans()},
        ).map(lambda arguments: {"name": "f", "arguments": arguments}),
        st.fixed_dictionaries(
            {},
            optional={
                "a": st.lists(st.integers() | TEXT),
                "o": st.none() | st.dictionaries(TEXT, st.booleans()),
                "x": TEXT,
            },
        ).map(lambda arguments: {"name": "g", "arguments": arguments}),
    ),
    max_size=3,
)


def _render(renderer: Renderer, messages: list[Message], **options: Any) -> str:
    normal = normalise_messages(renderer.family, messages)
    kwargs = {**renderer.family.fixed_kwargs, **options.pop("kwargs", {})}
    return renderer.text(normal, tools=TOOLS, kwargs=kwargs, **options)


def _message(reasoning: str, content: str, calls: list[dict[str, Any]]) -> dict[str, Any]:
    functions = [{"type": "function", "function": call} for call in calls]
    return {"role": "assistant", "content": content, "reasoning_content": reasoning, "tool_calls": functions}


@settings(deadline=None)
@given(st.sampled_from(sorted(RENDERERS)), TEXT, TEXT, CALLS, st.booleans())
def test_a_rendered_turn_is_parsed_to_its_message_and_rendered_the_same(
    name: str, reasoning: str, content: str, calls: list[dict[str, Any]], thinks: bool
) -> None:
    renderer = RENDERERS[name]
    switchable = "enable_thinking" in {**renderer.family.turn_kwargs, **renderer.family.pinned_kwargs}
    kwargs = {"enable_thinking": thinks} if switchable else {}
    reasoning = reasoning if thinks or not switchable else ""
    message = _message(reasoning, content, calls)
    rendered = _render(renderer, [USER, message], generation_prompt=False, kwargs=kwargs)
    prompt = _render(renderer, [USER], generation_prompt=True, kwargs=kwargs)
    completion = rendered.removeprefix(prompt).removesuffix("\n")
    assert f"{prompt}{completion}\n" == rendered

    parsed = parse_completion(
        renderer.family,
        renderer.tokenizer,
        renderer.tokenizer.encode(completion),
        generation_prompt=renderer.generation_prompt_of(prompt),
        tools=TOOLS,
        turn="t",
    )

    assert (parsed.reasoning_content or "", parsed.content) == (reasoning, content)
    again: Any = normalise_messages(renderer.family, [parsed.message()])[0].get("tool_calls", [])
    assert [call["function"] for call in again] == calls
    assert _render(renderer, [USER, parsed.message()], generation_prompt=False, kwargs=kwargs) == rendered


@pytest.mark.parametrize(
    "before", ["", "\n", "so\n", "so \n\n", "<tool_call>\n{}\n</tool_call>\n", "<tool_call>\n"]
)
def test_text_before_a_json_call_is_rendered_the_same(before: str) -> None:
    renderer = RENDERERS["qwen3"]
    call = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    completion = f"<think>\nwhy\n</think>\n\n{before}{call}<|im_end|>"
    prompt = _render(renderer, [USER], generation_prompt=True)
    parsed = parse_completion(
        renderer.family,
        renderer.tokenizer,
        renderer.tokenizer.encode(completion),
        generation_prompt=renderer.generation_prompt_of(prompt),
        tools=TOOLS,
        turn="t",
    )
    assert len(parsed.tool_calls) == 1
    rendered = _render(renderer, [USER, parsed.message()], generation_prompt=False)
    assert rendered == f"{prompt}{completion}\n"
