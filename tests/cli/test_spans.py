"""Spans partition a render, in characters and in tokens, whatever the template does."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from titocli.families.chat_template import compile_template
from titocli.families.chatml import REQUIRED_TOKENS
from titocli.families.family import Family
from titocli.families.kwargs import resolve_kwargs
from titocli.families.messages import normalise_messages
from titocli.families.registry import BUILT_IN
from titocli.families.renderer import Renderer, family_renderer
from titocli.families.spans import Span, SpanKind, conversation_spans, shared_length
from titocli.families.template_source import TemplateSource
from titocli.families.tiny import tiny_tokenizer
from titocli.jsonvalue import Message
from titocli.tokens.byte_level import byte_level_tokenizer
from titocli.verify.conversations import generate

TOKENIZER = byte_level_tokenizer(REQUIRED_TOKENS)
TOY = Family(name="toy", summary="")

PLAIN = "{% for m in messages %}<{{ m.content }}>{% endfor %}{{ '<a' if add_generation_prompt }}"
REWRITING = "{% for m in messages %}<{{ m.content }}{{ loop.revindex }}>{% endfor %}{{ '<a' if add_generation_prompt }}"
NO_USER_RAISES = "{% if messages|length < 2 %}{{ raise_exception('no') }}{% endif %}" + PLAIN
COUNTING = "{{ messages|length }}" + PLAIN


def spans_of(
    template: str, messages: list[Message], *, prompt: bool
) -> tuple[str, tuple[Span, ...], list[int]]:
    renderer = Renderer(TOY, compile_template(TemplateSource("toy", template)))
    text = renderer.text(messages, kwargs={}, generation_prompt=prompt)
    ids, offsets = TOKENIZER.encode_with_offsets(text)
    spans = conversation_spans(
        renderer, text, messages, tools=(), kwargs={}, generation_prompt=prompt, offsets=offsets
    )
    return text, spans, ids


def assert_partition(text: str, spans: tuple[Span, ...], ids: list[int]) -> None:
    assert (spans[0].text_start, spans[0].start) == (0, 0)
    assert (spans[-1].text_end, spans[-1].end) == (len(text), len(ids))
    for left, right in pairwise(spans):
        assert (left.text_end, left.end) == (right.text_start, right.start)
    assert all(span.text_start <= span.text_end for span in spans)
    assert all(span.start is not None and span.end is not None and span.start <= span.end for span in spans)


CONTENTS = st.lists(st.text(max_size=6), min_size=2, max_size=5)


@settings(deadline=None, max_examples=60)
@given(
    template=st.sampled_from([PLAIN, REWRITING, NO_USER_RAISES, COUNTING]),
    contents=CONTENTS,
    prompt=st.booleans(),
)
def test_spans_partition_text_and_tokens(template: str, contents: list[str], prompt: bool) -> None:
    messages: list[Message] = [{"role": "user", "content": content} for content in contents]

    text, spans, ids = spans_of(template, messages, prompt=prompt)

    assert_partition(text, spans, ids)
    assert (spans[-1].kind is SpanKind.GENERATION_PROMPT) is prompt


def test_a_span_is_what_its_message_adds() -> None:
    messages: list[Message] = [{"role": "user", "content": c} for c in ("é", "🙂", "c")]

    text, spans, ids = spans_of(PLAIN, messages, prompt=True)

    pieces = [text[span.text_start : span.text_end] for span in spans]
    assert pieces == ["<é>", "<🙂>", "<c>", "<a"]
    assert [TOKENIZER.decode(ids[span.start : span.end]) for span in spans] == pieces
    assert [span.message for span in spans] == [0, 1, 2, None]


def test_messages_that_do_not_render_alone_belong_to_the_next_span() -> None:
    messages: list[Message] = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]

    text, spans, _ = spans_of(NO_USER_RAISES, messages, prompt=True)

    assert [(span.message, text[span.text_start : span.text_end]) for span in spans] == [
        (1, "<s><u>"),
        (None, "<a"),
    ]


def test_without_ids_there_are_no_token_offsets() -> None:
    renderer = Renderer(TOY, compile_template(TemplateSource("toy", PLAIN)))
    messages: list[Message] = [{"role": "user", "content": "u"}]

    (span,) = conversation_spans(renderer, "<u>", messages, tools=(), kwargs={}, generation_prompt=False)

    assert (span.start, span.end, span.text_end) == (None, None, 3)


@pytest.mark.parametrize("name", sorted(set(BUILT_IN) - {"default"}))
def test_spans_of_real_families_start_with_their_turns(name: str) -> None:
    family = BUILT_IN[name]
    tokenizer = tiny_tokenizer(family)
    renderer = family_renderer(family, tokenizer)
    for case in generate(family, 25, seed=7):
        messages = normalise_messages(family, case.messages)
        kwargs = resolve_kwargs(family, case.kwargs)
        tools = case.tools or ()
        text = renderer.text(messages, tools=tools, kwargs=kwargs, generation_prompt=True)
        ids, offsets = tokenizer.encode_with_offsets(text)

        spans = conversation_spans(
            renderer, text, messages, tools=tools, kwargs=kwargs, generation_prompt=True, offsets=offsets
        )

        assert_partition(text, spans, ids)
        assert ids == tokenizer.encode(text)
        assert _opens_a_turn(family, text, spans[-1])
        for span in spans:
            if span.role == "assistant" and span.message != 0:
                assert _opens_a_turn(family, text, span)


def _opens_a_turn(family: Family, text: str, span: Span) -> bool:
    resumes = family.assistant_resumes
    is_resumed = resumes is not None and text[: span.text_start].endswith(resumes)
    return is_resumed or text.startswith(str(family.assistant_start), span.text_start)


@given(st.text(alphabet="ab"), st.text(alphabet="ab"))
def test_the_shared_length_is_that_of_the_longest_common_start(left: str, right: str) -> None:
    length = shared_length(left, right)

    assert left[:length] == right[:length]
    assert left[: length + 1] != right[: length + 1] or length == min(len(left), len(right))
