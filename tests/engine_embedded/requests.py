"""Requests for the embedded engine."""

from __future__ import annotations

from typing import Any

from titocli.families.registry import get_family
from titocli.families.tiny import tiny_tokenizer
from titocli.session.generation import GenerateRequest
from titocli.tokens.ids import token_ids

WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "unit": {"enum": ["celsius", "fahrenheit"]},
                "days": {"type": "integer"},
            },
            "required": ["city", "days"],
        },
    },
}
OPEN_THINK = "<|im_start|>assistant\n<think>\n"


TOKENIZER = tiny_tokenizer(get_family("qwen3"))


def a_request(
    *,
    prompt: str = "<|im_start|>user\nhello<|im_end|>\n" + OPEN_THINK,
    prompt_ids: list[int] | None = None,
    generation_prompt: str = OPEN_THINK,
    session_id: str = "session",
    tools: tuple[Any, ...] = (),
    options: dict[str, Any] | None = None,
) -> GenerateRequest:
    """A request that opens a think block, unless told otherwise."""
    return GenerateRequest(
        request_id="one",
        session_id=session_id,
        prompt_ids=token_ids(TOKENIZER.encode(prompt) if prompt_ids is None else prompt_ids),
        generation_prompt=generation_prompt,
        messages=[{"role": "user", "content": "hello"}],
        tools=tools,
        options=options or {},
    )
