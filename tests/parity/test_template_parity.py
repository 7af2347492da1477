"""titocli's templates print, byte for byte, what the checkpoints' own templates print under transformers.

Three ways to ask, for the kwarg that a family fixes (``clear_thinking`` or ``preserve_thinking``):

* absent, and set to the opposite of the family's value: our template is the checkpoint's own, history
  rewriting included;
* the family's value: the checkpoint's own where it knows the kwarg, else its text with the declared edit
  of ``native_edits.py``.

The only other deviation is the guard against conversations without a user message, which the families drop.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.assets import native_template
from tests.generated_count import generated_count
from tests.parity.native_edits import (
    KEEPS_THINKING,
    USER_GUARD_MESSAGE,
    WITHOUT_USER_GUARD,
    edited,
)
from tests.parity.natives import QWEN_NATIVES, native_of
from tests.parity.oracle import NativeRender, Oracle
from titocli.errors import TemplateRaised
from titocli.families.family import Family
from titocli.families.kwargs import resolve_kwargs
from titocli.families.messages import normalise_messages, normalise_tools
from titocli.families.registry import get_family
from titocli.families.renderer import Renderer, family_renderer
from titocli.jsonvalue import JsonValue, Message
from titocli.verify.conversations import Conversation, generate

pytestmark = pytest.mark.assets

COUNT = 400
SEED = 20261129

_WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
_USER: Message = {"role": "user", "content": "Hello"}


class _Natives:
    """A family's own template: as it is, without the user guard, and with the declared edits."""

    def __init__(self, family: Family, folder: Path) -> None:
        native = native_of(family)
        self.as_is = native_template(native.template)
        self.guardless = folder / "guardless.jinja"
        text = edited(self.as_is.read_bytes().decode(), WITHOUT_USER_GUARD.get(family.name, ()))
        self.guardless.write_bytes(text.encode())
        self.keeps_thinking = native.written_to(folder)


@pytest.fixture(params=list(QWEN_NATIVES), ids=lambda named: "-".join(filter(None, named)))
def family(request: pytest.FixtureRequest) -> Family:
    return get_family(*request.param)


@pytest.fixture
def natives(family: Family, tmp_path: Path) -> _Natives:
    return _Natives(family, tmp_path)


def _fixed_kwarg(family: Family, mode: str) -> dict[str, JsonValue]:
    opposite: dict[str, JsonValue] = {name: not value for name, value in family.fixed_kwargs.items()}
    kwargs_of: dict[str, dict[str, JsonValue]] = {
        "absent": {},
        "opposite": opposite,
        "family": dict(family.fixed_kwargs),
    }
    return kwargs_of[mode]


def _generation_prompt(conversation: Conversation) -> bool:
    return conversation.index % 2 == 0


def _ours(renderer: Renderer, conversation: Conversation, kwargs: Mapping[str, JsonValue]) -> str:
    return renderer.text(
        normalise_messages(renderer.family, conversation.messages),
        tools=normalise_tools(conversation.tools),
        # The checkpoint's template has the defaults of its own.
        kwargs={**renderer.family.default_kwargs, **kwargs},
        generation_prompt=_generation_prompt(conversation),
    )


def _native(
    oracle: Oracle,
    template: Path,
    family: Family,
    conversation: Conversation,
    kwargs: Mapping[str, JsonValue],
) -> NativeRender:
    return oracle.render(
        template,
        normalise_messages(family, conversation.messages),
        tools=conversation.tools,
        kwargs=kwargs,
        generation_prompt=_generation_prompt(conversation),
    )


def _is_question(message: Message) -> bool:
    return message["role"] == "user" and "<tool_response>" not in str(message["content"])


@pytest.mark.parametrize("mode", ["absent", "opposite"])
def test_with_the_checkpoints_own_kwargs_the_text_is_the_checkpoints_own(
    oracle: Oracle, family: Family, natives: _Natives, mode: str
) -> None:
    renderer = family_renderer(family)
    for conversation in generate(family, COUNT, SEED):
        kwargs = {**conversation.kwargs, **_fixed_kwarg(family, mode)}
        native = _native(oracle, natives.as_is, family, conversation, kwargs)
        if native.text is None:
            assert USER_GUARD_MESSAGE in str(native.error), native.error
            assert not any(map(_is_question, conversation.messages))
            native = _native(oracle, natives.guardless, family, conversation, kwargs)
        assert _ours(renderer, conversation, kwargs) == native.text, conversation.index


def test_with_the_familys_kwargs_the_text_is_the_checkpoints_own_but_for_the_declared_deviations(
    oracle: Oracle, family: Family, natives: _Natives
) -> None:
    renderer = family_renderer(family)
    for conversation in generate(family, generated_count(), SEED):
        kwargs = {**conversation.kwargs, **family.fixed_kwargs}
        native = _native(oracle, natives.keeps_thinking, family, conversation, kwargs)
        assert _ours(renderer, conversation, kwargs) == native.text, conversation.index


def test_the_declared_deviations_are_the_ones_that_are_needed(family: Family) -> None:
    """Every edit of a template is declared by its family, and the other way round."""
    edits = {*WITHOUT_USER_GUARD.get(family.name, ()), *KEEPS_THINKING.get(family.name, ())}
    declared = " ".join(deviation.what for deviation in family.deviations)
    assert ("think block" in declared) == (family.name in KEEPS_THINKING)
    assert ("without a user message" in declared) == (family.name in WITHOUT_USER_GUARD)
    assert bool(edits) == bool(family.deviations)


def test_the_small_qwen35_does_not_think_unless_it_is_told_to(oracle: Oracle) -> None:
    texts = []
    for variant in ("large", "small"):
        family = get_family("qwen35", variant)
        native = oracle.render(native_template(native_of(family).template), [_USER], generation_prompt=True)
        kwargs = resolve_kwargs(family)
        assert family_renderer(family).text([_USER], kwargs=kwargs, generation_prompt=True) == native.text
        texts.append(native.text)
    assert texts[1] == texts[0] + "\n</think>\n\n"


@pytest.mark.parametrize(
    ("name", "messages", "kwargs"),
    [
        ("qwen35", [_USER, {"role": "system", "content": "late"}], {}),
        ("qwen36", [_USER, {"role": "system", "content": "late"}], {}),
        ("qwen38small", [_USER, {"role": "system", "content": "late"}], {}),
        ("qwen38small", [_USER], {"reasoning_effort": "high"}),
        ("qwen35", [{"role": "system", "content": [{"type": "image", "image": "x"}]}, _USER], {}),
        ("qwen36", [{"role": "system", "content": [{"type": "video", "video": "x"}]}, _USER], {}),
        ("qwen35", [_USER, {"role": "critic", "content": "no"}], {}),
        ("qwen38small", [{"role": "user", "content": [{"type": "audio", "audio": "x"}]}], {}),
        ("qwen36", [{"role": "user", "content": 3}], {}),
        ("qwen35", [], {}),
        ("qwen3", [], {}),
    ],
)
def test_what_the_checkpoints_template_refuses_ours_refuses(
    oracle: Oracle, name: str, messages: list[Message], kwargs: dict[str, JsonValue]
) -> None:
    native = oracle.render(
        native_template(native_of(get_family(name)).template), messages, kwargs=kwargs, generation_prompt=True
    )
    assert native.text is None
    with pytest.raises(TemplateRaised):
        family_renderer(get_family(name)).text(messages, kwargs=kwargs, generation_prompt=True)


@pytest.mark.parametrize(
    ("name", "messages", "kwargs"),
    [
        # A result that opens a conversation has no opener in the newer templates.
        ("qwen36", [{"role": "tool", "content": "1"}, {"role": "tool", "content": "2"}, _USER], {}),
        ("qwen3", [{"role": "tool", "content": "1"}, {"role": "tool", "content": "2"}, _USER], {}),
        # An effort is not looked at when thinking is off.
        ("qwen38small", [_USER], {"reasoning_effort": "high", "enable_thinking": False}),
        ("qwen38small", [{"role": "system", "content": " "}, _USER], {"enable_thinking": False}),
        ("qwen38small", [{"role": "system", "content": " "}, _USER], {"reasoning_effort": "low"}),
        ("qwen36", [{"role": "system", "content": " "}, _USER], {}),
        ("qwen36", [_USER, {"role": "assistant", "content": "", "tool_calls": [{"name": "f"}]}], {}),
        # A part is known by its type or by its key.
        (
            "qwen35",
            [{"role": "user", "content": [{"type": "image"}, {"image": "x"}, {"image_url": "x"}]}],
            {},
        ),
        ("qwen36", [{"role": "user", "content": [{"type": "video"}, {"video": "x"}, {"text": "t"}]}], {}),
        ("qwen38small", [{"role": "user", "content": [{"type": "video"}, {"type": "image"}]}], {}),
        ("qwen35", [_USER, {"role": "assistant", "content": None, "tool_calls": {"name": "f"}}], {}),
        (
            "qwen38small",
            [_USER, {"role": "assistant", "content": "", "tool_calls": [{"name": "f", "arguments": ""}]}],
            {},
        ),
    ],
)
@pytest.mark.parametrize("tools", [None, [_WEATHER]])
def test_rare_shapes_print_the_same(
    oracle: Oracle,
    name: str,
    messages: list[Message],
    kwargs: dict[str, JsonValue],
    tools: list[Mapping[str, JsonValue]] | None,
) -> None:
    native = oracle.render(
        native_template(native_of(get_family(name)).template),
        messages,
        tools=tools,
        kwargs=kwargs,
        generation_prompt=True,
    )
    ours = family_renderer(get_family(name)).text(
        messages, tools=tools or (), kwargs=kwargs, generation_prompt=True
    )
    assert ours == native.text
