"""Which part of a render belongs to which message.

The spans come from the template itself, not from knowledge of its tokens: what a message adds to the render
of the messages before it is its span.  They partition the render, whatever the template does.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

from titocli.errors import TemplateRaised
from titocli.families.renderer import Renderer
from titocli.jsonvalue import JsonValue, Message, Tool

#: The characters of a text that each of its tokens covers.
Offsets = Sequence[tuple[int, int]]


class SpanKind(StrEnum):
    """What a span is."""

    MESSAGE = "message"
    GENERATION_PROMPT = "generation_prompt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A part of a render: characters ``[text_start, text_end)``, tokens ``[start, end)`` or None without ids.

    ``message`` is None for the generation prompt.
    """

    message: int | None
    role: str
    kind: SpanKind
    text_start: int
    text_end: int
    start: int | None = None
    end: int | None = None


def conversation_spans(
    renderer: Renderer,
    text: str,
    messages: Sequence[Message],
    *,
    tools: Sequence[Tool],
    kwargs: Mapping[str, JsonValue],
    generation_prompt: bool,
    offsets: Offsets | None = None,
) -> tuple[Span, ...]:
    """The spans of ``text``, the render of these normalised messages; one render a message.

    A message ends where the render that ends with it and the whole text part.  Where the template raises for
    the messages so far, they belong to the span of the next one.  ``offsets`` are those of the text's tokens.
    """
    ends: list[tuple[int, int]] = []
    for index in range(len(messages)):
        prefix = _prefix(renderer, messages[: index + 1], tools, kwargs)
        if prefix is not None:
            ends.append((index, shared_length(prefix, text)))
    if not generation_prompt:
        ends[-1:] = [(len(messages) - 1, len(text))]
    spans = _message_spans(messages, ends)
    if generation_prompt:
        start = spans[-1].text_end if spans else 0
        spans.append(_span(None, "assistant", start, len(text)))
    return tuple(spans) if offsets is None else tuple(_with_tokens(spans, offsets))


def _prefix(
    renderer: Renderer, messages: Sequence[Message], tools: Sequence[Tool], kwargs: Mapping[str, JsonValue]
) -> str | None:
    try:
        return renderer.text(messages, tools=tools, kwargs=kwargs, generation_prompt=False)
    except TemplateRaised:
        return None


def _message_spans(messages: Sequence[Message], ends: Sequence[tuple[int, int]]) -> list[Span]:
    starts = [0, *accumulate((end for _, end in ends), max)]
    return [
        _span(index, str(messages[index].get("role")), starts[number], starts[number + 1])
        for number, (index, _) in enumerate(ends)
    ]


def _span(message: int | None, role: str, text_start: int, text_end: int) -> Span:
    kind = SpanKind.GENERATION_PROMPT if message is None else SpanKind.MESSAGE
    return Span(message=message, role=role, kind=kind, text_start=text_start, text_end=text_end)


def _with_tokens(spans: Sequence[Span], offsets: Offsets) -> list[Span]:
    # A token belongs to the span in which it starts.
    starts = list(accumulate((start for start, _ in offsets), max))
    cuts = [0, *(bisect_left(starts, span.text_end) for span in spans[:-1]), len(offsets)]
    return [
        Span(
            message=span.message,
            role=span.role,
            kind=span.kind,
            text_start=span.text_start,
            text_end=span.text_end,
            start=cuts[number],
            end=cuts[number + 1],
        )
        for number, span in enumerate(spans)
    ]


def shared_length(left: str, right: str) -> int:
    """How many characters two texts have in common from the start."""
    if right.startswith(left):
        return len(left)
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


__all__ = ["Offsets", "Span", "SpanKind", "conversation_spans", "shared_length"]
