"""Reasoning in think tags: where it stands in a completion.

Qwen templates write ``<think>\\n{reasoning}\\n</think>\\n\\n{content}``.  The block is open from the start
when the generation prompt opened it; otherwise the completion must begin with its tag.  The first
``</think>`` closes; without one, all is reasoning (as in SGLang 0.5.23's ``qwen3`` parser).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from titocli.families.family import ReasoningGrammar
from titocli.families.parsers.parsed import ReasoningStatus

_OPEN, _CLOSE = b"<think>", b"</think>"
_OPENING = re.compile(rb"\s*(<think>)")
#: What the templates write between the block and the content.
_AFTER_CLOSE = re.compile(rb"\n{0,2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningSpan:
    """Byte ranges: the block ``[start, end)`` with its tags, the text in it, and where content starts."""

    status: ReasoningStatus
    start: int
    text_start: int
    text_end: int
    end: int
    content_start: int


def find_reasoning(grammar: ReasoningGrammar | None, data: bytes, generation_prompt: str) -> ReasoningSpan:
    """Where the reasoning of a completion stands; empty at offset 0 without any."""
    start, text_start = _opening(grammar, data, generation_prompt)
    if text_start is None:
        return _span(ReasoningStatus.ABSENT, 0, 0, 0, 0, 0)
    close = data.find(_CLOSE, text_start)
    if close < 0:
        end = len(data)
        return _span(ReasoningStatus.UNCLOSED, start, text_start, end, end, end)
    end = close + len(_CLOSE)
    content = _AFTER_CLOSE.match(data, end)
    return _span(ReasoningStatus.CLOSED, start, text_start, close, end, content.end() if content else end)


def _opening(grammar: ReasoningGrammar | None, data: bytes, prompt: str) -> tuple[int, int | None]:
    if grammar is not ReasoningGrammar.THINK_TAGS:
        return 0, None
    if prompt.rfind(_OPEN.decode()) > prompt.rfind(_CLOSE.decode()):
        return 0, 0
    opening = _OPENING.match(data)
    return (opening.start(1), opening.end(1)) if opening else (0, None)


def _span(
    status: ReasoningStatus, start: int, text_start: int, text_end: int, end: int, content_start: int
) -> ReasoningSpan:
    return ReasoningSpan(
        status=status,
        start=start,
        text_start=text_start,
        text_end=text_end,
        end=end,
        content_start=content_start,
    )


__all__ = ["ReasoningSpan", "find_reasoning"]
