"""Inkling's template prints what an independent token renderer makes of the same conversations.

No public copy of the checkpoint's own template was found.  The oracle is Inkling's token renderer of
llm-router-utils 0.8.1, in text and in ids.  What it does not cover (labels of the effort, numbers of more than two
digits) is compared with cases written down here.  The shipped template itself prints the same under both
versions of transformers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.assets import tokenizer_file
from tests.generated_count import generated_count
from tests.parity.contract_parity import Comparison, kwarg_combinations, values_not_generated
from tests.parity.oracle import Oracle
from tests.parity.public_code import inkling_renderer
from titocli.errors import InvalidMessages, TemplateRaised
from titocli.families.messages import normalise_messages, normalise_tools
from titocli.families.registry import get_family
from titocli.families.renderer import Renderer, family_renderer
from titocli.families.template_source import shipped_template
from titocli.jsonvalue import JsonObject, JsonValue, Message, Tool
from titocli.tokens.tokenizer import Tokenizer
from titocli.verify.append_only import find_counterexample
from titocli.verify.conversations import Conversation, generate

pytestmark = pytest.mark.assets

SEED = 20261129
FAMILY = get_family("inkling")
RENDERER = family_renderer(FAMILY)
EFFORTS: Mapping[str, float] = {
    "none": 0,
    "minimal": 0.1,
    "low": 0.2,
    "medium": 0.7,
    "high": 0.9,
    "max": 0.99,
}
#: What the token renderer leaves to the media processor, and the token that a text has there.
MEDIA = {-101: "<|unused_200054|>", -102: "<|unused_200053|>"}

USER: Message = {"role": "user", "content": "Hello"}
SYSTEM: Message = {"role": "system", "content": "s"}
CALL: JsonObject = {
    "id": "a",
    "function": {"name": "f", "arguments": {"z": None, "items": [1, {"b": "é<", "a": 1.0}]}},
}
EFFORT = "<|message_system|><|content_text|>Thinking effort level: 0.9<|end_message|>"


def _assistant(content: JsonValue = "", **fields: JsonValue) -> Message:
    return {"role": "assistant", "content": content, **fields}


class _Pieces:
    """A tokenizer for the oracle whose ids are pieces of text."""

    def encode_text(self, text: str) -> list[str]:
        return [text]

    def encode_special(self, token: str) -> str:
        return token


class _Ids:
    """The real vocabulary, for the oracle."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def encode_text(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text))

    def encode_special(self, token: str) -> int:
        found = self._tokenizer.token_id(token)
        assert found is not None, token
        return found


def _oracle(
    tokenizer: _Pieces | _Ids,
    messages: Sequence[Message],
    *,
    tools: Sequence[Tool] | None = None,
    effort: JsonValue = None,
    generation_prompt: bool = True,
) -> list[Any]:
    given = EFFORTS[effort] if isinstance(effort, str) else effort
    pieces: list[Any] = inkling_renderer().render_inkling_messages(
        messages, tokenizer, add_generation_prompt=generation_prompt, tools=tools, reasoning_effort=given
    )
    return pieces


def _expected(messages: Sequence[Message], **asked: Any) -> str:
    return "".join(MEDIA.get(piece, piece) for piece in _oracle(_Pieces(), messages, **asked))


def _ours(
    messages: Sequence[Message],
    *,
    tools: Sequence[Tool] | None = None,
    effort: JsonValue = None,
    generation_prompt: bool = True,
) -> str:
    kwargs = {} if effort is None else {"reasoning_effort": effort}
    return RENDERER.text(
        messages, tools=normalise_tools(tools), kwargs=kwargs, generation_prompt=generation_prompt
    )


def _asked(conversation: Conversation) -> dict[str, Any]:
    return {
        "tools": conversation.tools,
        "effort": conversation.kwargs.get("reasoning_effort"),
        "generation_prompt": conversation.index % 2 == 0,
    }


def test_generated_conversations_print_what_the_token_renderer_makes() -> None:
    for conversation in generate(FAMILY, generated_count(), SEED):
        messages = normalise_messages(FAMILY, conversation.messages)
        assert _ours(messages, **_asked(conversation)) == _expected(messages, **_asked(conversation))


def test_the_ids_are_the_token_renderers_ids() -> None:
    path = tokenizer_file("inkling")
    tokenizer = Tokenizer(path.read_text(encoding="utf-8"), source=path.name)
    renderer = Renderer(FAMILY, RENDERER.template, tokenizer)
    for conversation in generate(FAMILY, generated_count() // 4, SEED):
        messages = normalise_messages(FAMILY, conversation.messages)
        expected = _oracle(_Ids(tokenizer), messages, **_asked(conversation))
        media = {marker: tokenizer.token_id(token) for marker, token in MEDIA.items()}
        text = _ours(messages, **_asked(conversation))
        assert list(renderer.ids(text)) == [media.get(each, each) for each in expected]


def test_the_shipped_template_prints_the_same_under_transformers(oracle: Oracle, tmp_path: Path) -> None:
    path = tmp_path / "inkling.jinja"
    path.write_bytes(shipped_template("inkling.jinja").text.encode())
    conversations = generate(FAMILY, generated_count(), SEED)
    assert Comparison(oracle, FAMILY, path).check_all(conversations, {}) == generated_count()


def test_every_effort_is_printed_as_its_number() -> None:
    combinations = kwarg_combinations(FAMILY)
    assert {each.get("reasoning_effort") for each in combinations} == {None, *EFFORTS}
    assert values_not_generated(FAMILY, generate(FAMILY, 200, SEED)) == set()
    for kwargs in combinations:
        effort = kwargs.get("reasoning_effort")
        printed = f"Thinking effort level: {EFFORTS[str(effort or 'high')]}<|end_message|>"
        for messages in ([USER], [SYSTEM, SYSTEM, USER, SYSTEM], [SYSTEM]):
            text = _ours(messages, effort=effort)
            assert text == _expected(messages, effort=effort)
            assert text.count(printed) == 1


@pytest.mark.parametrize(
    ("number", "printed"), [(0, "0"), (0.0, "0"), (0.5, "0.5"), (0.99, "0.99"), (0.125, "0.125")]
)
def test_an_effort_may_be_a_number(number: float, printed: str) -> None:
    assert f"Thinking effort level: {printed}<|end_message|>" in _ours([USER], effort=number)
    assert _ours([USER], effort=0.5) == _expected([USER], effort=0.5)


def test_an_effort_of_null_is_the_default() -> None:
    kwargs = {"reasoning_effort": None}
    assert RENDERER.text([USER], kwargs=kwargs, generation_prompt=True) == _ours([USER])


@pytest.mark.parametrize("effort", ["xhigh", "0.5", "", 1, -0.1, float("nan"), True, [], {}])
def test_another_effort_is_refused_with_the_ones_that_are_known(effort: JsonValue) -> None:
    known = "none, minimal, low, medium, high, max, or from 0 to 0.99"
    with pytest.raises(TemplateRaised, match=known):
        _ours([USER], effort=effort)


@pytest.mark.parametrize(
    "messages",
    [
        [SYSTEM],
        [_assistant("first"), USER],
        [USER, _assistant(" a\n", reasoning_content="\n", tool_calls=[CALL, {**CALL, "id": "b"}]), SYSTEM],
        [USER, _assistant(tool_calls=[CALL]), {"role": "tool", "content": "", "tool_call_id": "a"}],
        [
            USER,
            _assistant(tool_calls=[CALL]),
            {"role": "tool", "content": "1", "name": "g", "tool_call_id": "a"},
        ],
        [USER, _assistant(tool_calls=[CALL]), {"role": "tool", "content": "1", "tool_call_id": "other"}],
        [USER, _assistant(tool_calls=[CALL]), {"role": "tool", "content": "1"}],
        [
            USER,
            _assistant(tool_calls=[CALL]),
            _assistant(tool_calls=[{"id": "b", "function": {"name": "g", "arguments": {}}}]),
            {"role": "tool", "content": "1", "tool_call_id": "a"},
            {"role": "tool", "content": "2", "tool_call_id": "b"},
            _assistant(tool_calls=[{"id": "a", "function": {"name": "h", "arguments": {}}}]),
            {"role": "tool", "content": "3", "tool_call_id": "a"},
        ],
        [
            USER,
            _assistant(tool_calls=[CALL]),
            {
                "role": "tool",
                "tool_call_id": "a",
                "content": [{"type": "image"}, {"type": "text", "text": ""}],
            },
        ],
        [{"role": "user", "content": [{"type": "input_audio"}, {"type": "audio"}, {"type": "image_url"}]}],
        [USER, _assistant(""), USER],
    ],
)
@pytest.mark.parametrize(
    "tools",
    [
        None,
        [
            {"type": "function", "function": {"name": "f", "strict": False}},
            {
                "type": "other",
                "function": {"name": "g", "description": None, "parameters": {"b": 1, "a": "é"}},
            },
        ],
    ],
)
def test_rare_shapes_print_the_same(messages: list[Message], tools: list[Tool] | None) -> None:
    for generation_prompt, effort in product((True, False), (None, "low")):
        asked: dict[str, Any] = {"tools": tools, "effort": effort, "generation_prompt": generation_prompt}
        assert _ours(messages, **asked) == _expected(messages, **asked)


def test_a_whole_conversation_prints_this() -> None:
    """Written down, so that an error that the oracle shares would show."""
    tools: list[Tool] = [{"type": "function", "function": {"name": "f", "parameters": {"z": 1, "a": 2}}}]
    messages = [
        SYSTEM,
        USER,
        _assistant("Wait.", reasoning_content="Look.", tool_calls=[CALL]),
        {"role": "tool", "tool_call_id": "a", "content": "42"},
    ]
    assert _ours(messages, tools=tools) == (
        "<|message_system|>tool_declare<|content_xml|>"
        '[{"description":"","name":"f","parameters":{"a":2,"z":1},"type":"function"}]<|end_message|>'
        f"<|message_system|><|content_text|>s<|end_message|>{EFFORT}"
        "<|message_user|><|content_text|>Hello<|end_message|>"
        "<|message_model|><|content_thinking|>Look.<|end_message|>"
        "<|message_model|><|content_text|>Wait.<|end_message|>"
        "<|message_model|>f<|content_invoke_tool_json|>"
        '{"name":"f","args":{"items":[1,{"a":1.0,"b":"é<"}],"z":null}}<|end_message|>'
        "<|content_model_end_sampling|>"
        "<|message_tool|>f<|content_text|>42<|end_message|><|message_model|>"
    )


def test_an_assistant_without_blocks_prints_nothing() -> None:
    assert _ours([USER, _assistant("")], generation_prompt=False) == _ours([USER], generation_prompt=False)


def test_text_parts_are_one_block_where_the_token_renderer_prints_two() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    messages: list[Message] = [{"role": "user", "content": parts}]
    assert _expected(messages).count("<|message_user|>") == 2
    assert "<|message_user|><|content_text|>ab<|end_message|>" in _ours(normalise_messages(FAMILY, messages))


@pytest.mark.parametrize(
    "messages",
    [
        [USER, _assistant(tool_calls=[{"id": "a", "function": {"name": "f", "arguments": "[1]"}}])],
        [{"role": "user", "content": [{"type": "video"}]}],
        [{"role": "critic", "content": "x"}],
    ],
)
def test_what_cannot_be_printed_is_refused(messages: list[Message]) -> None:
    with pytest.raises(TemplateRaised):
        _ours(messages)


def test_a_part_that_the_template_cannot_print_is_named() -> None:
    with pytest.raises(InvalidMessages, match="'video'"):
        normalise_messages(FAMILY, [{"role": "user", "content": [{"type": "video"}]}])


def test_no_generated_conversation_is_rewritten() -> None:
    renderer = RENDERER
    for conversation in generate(FAMILY, generated_count(), SEED):
        assert find_counterexample(renderer, conversation) is None


def test_the_name_of_a_result_is_found_before_the_last_turn_too() -> None:
    """Why a suffix is rendered against the real history."""
    history = [USER, _assistant(tool_calls=[CALL]), USER, _assistant("wait")]
    late = [{"role": "tool", "tool_call_id": "a", "content": "42"}]
    suffix = RENDERER.suffix(late, history=history, kwargs={})
    assert suffix.text == "<|message_tool|>f<|content_text|>42<|end_message|><|message_model|>"
