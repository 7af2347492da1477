"""Server-sent events of a chat completion, read as a client does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx

from titocli.session.generation import Completion, FinishReason, GenerateRequest

from .conftest import plain_answer

U: Any = {"role": "user", "content": "What is 1+2?"}
TOOLS: Any = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in ("a", "b")
]
CALLS: Any = [
    {"id": "call_1", "type": "function", "function": {"name": "a", "arguments": "{}"}},
    {"id": "call_2", "type": "function", "function": {"name": "b", "arguments": '{"x":  1}'}},
]
THOUGHTFUL: Any = {"role": "assistant", "content": "so", "reasoning_content": "hm", "tool_calls": CALLS}


def thoughtful(request: GenerateRequest) -> Completion:
    """Reasoning, content and two calls at first, plain text on later turns."""
    plain = plain_answer(request)
    if any(message["role"] == "assistant" for message in request.messages):
        return plain
    return replace(plain, message=THOUGHTFUL, finish_reason=FinishReason.TOOL_CALLS, matched_stop=258)


@contextmanager
def opened(http: httpx.Client, session: str, messages: Any, **more: Any) -> Iterator[httpx.Response]:
    body = {"messages": messages, "stream": True, **more}
    with http.stream("POST", f"/sessions/{session}/v1/chat/completions", json=body) as response:
        yield response


def streamed(http: httpx.Client, session: str, messages: Any, **more: Any) -> list[Any]:
    """The data of all events; ``[DONE]`` as it is."""
    with opened(http, session, messages, **more) as response:
        text = response.read().decode()
    assert response.status_code == 200, text
    return events_of(text)


def events_of(text: str) -> list[Any]:
    data = [
        line.removeprefix("data: ")
        for line in text.replace("\r", "").split("\n")
        if line and not line.startswith(":")
    ]
    return [item if item == "[DONE]" else json.loads(item) for item in data]


__all__ = ["CALLS", "THOUGHTFUL", "TOOLS", "U", "events_of", "opened", "streamed", "thoughtful"]
