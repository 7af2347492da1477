"""The text that Inkling's token renderer of llm-router-utils stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.parity.public_code import inkling_renderer
from titocli.jsonvalue import JsonValue, Message, Tool

#: It takes an effort as a number.
EFFORTS: Mapping[str, float] = {
    "none": 0,
    "minimal": 0.1,
    "low": 0.2,
    "medium": 0.7,
    "high": 0.9,
    "max": 0.99,
}
#: What it leaves to the media processor, and the token that a text has there.
MEDIA = {-101: "<|unused_200054|>", -102: "<|unused_200053|>"}


class Pieces:
    """A tokenizer for it whose ids are pieces of text."""

    def encode_text(self, text: str) -> list[str]:
        return [text]

    def encode_special(self, token: str) -> str:
        return token


def inkling_text(
    messages: Sequence[Message],
    *,
    tools: Sequence[Tool],
    effort: JsonValue,
    generation_prompt: bool,
) -> str:
    pieces = inkling_renderer().render_inkling_messages(
        messages,
        Pieces(),
        add_generation_prompt=generation_prompt,
        tools=list(tools) or None,
        reasoning_effort=EFFORTS[effort] if isinstance(effort, str) else effort,
    )
    return "".join(MEDIA.get(piece, piece) for piece in pieces)
