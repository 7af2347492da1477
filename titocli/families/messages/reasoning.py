"""An assistant's reasoning: ``reasoning_content``, ``reasoning``, or think tags before the answer."""

from __future__ import annotations

import re

from titocli.families.family import Family, ReasoningGrammar, Role
from titocli.families.messages.content import text_of
from titocli.jsonvalue import JsonValue, Message

_TAGGED = (
    ReasoningGrammar.THINK_TAGS,
    ReasoningGrammar.THINK_TAGS_TIGHT,
    ReasoningGrammar.THINK_TAGS_SPACED,
    ReasoningGrammar.THINK_TAGS_LINES,
    ReasoningGrammar.THINK_TAGS_HEADED,
)
_INLINE = re.compile(r"\s*<think>(.*?)</think>\n*", re.DOTALL)


def reasoning_of(
    family: Family, index: int, message: Message, content: JsonValue
) -> tuple[str | None, JsonValue]:
    """The reasoning (None where none is given) and the content without it.

    Where reasoning is given under its own name, content that starts with another think block is an answer
    and stays whole.  A ``</think>`` alone is left to the template: some take it for the end of reasoning.
    Raises ``InvalidMessages``.
    """
    given = _given(index, message)
    inline = _INLINE.match(content) if isinstance(content, str) and _has_tags(family) else None
    if inline is None or not isinstance(content, str):
        return given, content
    thought, answer = inline[1].strip("\n"), content[inline.end() :]
    if given is None:
        return thought, answer
    repeated = bool(given.strip()) and given.strip() == thought.strip()
    return given, answer if repeated else content


def told_apart(message: Message) -> Message:
    """An assistant message whose reasoning was read apart from its answer: none is empty reasoning.

    A template that splits answers at ``</think>`` leaves such an answer whole.
    """
    if message.get("role") != Role.ASSISTANT or message.get("reasoning_content") is not None:
        return message
    return {**message, "reasoning_content": ""}


def _has_tags(family: Family) -> bool:
    return family.parsers.reasoning in _TAGGED


def _given(index: int, message: Message) -> str | None:
    names = ("reasoning_content", "reasoning")
    texts = [text_of(index, message[name], name=name) for name in names if message.get(name) is not None]
    return next(filter(None, texts), "") if texts else None


__all__ = ["reasoning_of", "told_apart"]
