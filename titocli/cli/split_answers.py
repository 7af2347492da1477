"""Answers that a template cuts at a ``</think>`` that they only mention."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from titocli.families.messages.reasoning import told_apart
from titocli.families.renderer import Renderer
from titocli.jsonvalue import JsonValue, Message
from titocli.report.result import Notice

_END_OF_THOUGHT = "</think>"


def split_answer_warnings(
    renderer: Renderer, place: str, messages: Sequence[Message], kwargs: Mapping[str, JsonValue]
) -> Iterator[Notice]:
    """A warning for each message whose text is another one when its reasoning is said to be empty."""
    for index, message in enumerate(messages):
        if _END_OF_THOUGHT not in str(message.get("content")) or told_apart(message) is message:
            continue
        texts = {
            renderer.text([*messages[:index], answer], kwargs=kwargs, generation_prompt=False)
            for answer in (message, told_apart(message))
        }
        if len(texts) > 1:
            yield Notice(
                code="split_answer",
                message=f"{place}: the template takes the text before {_END_OF_THOUGHT} in message {index} "
                "for its reasoning",
                hint='where it is part of the answer, give the message "reasoning_content": ""',
            )


__all__ = ["split_answer_warnings"]
