"""The official ``openai`` and ``anthropic`` clients do a tool task; what they send back is what is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import anthropic
import openai
import pytest

from tests.agents.conftest import Serve
from tests.agents.task import ANTHROPIC_TOOLS, FINAL, OPENAI_TOOLS, QUESTION, RESULTS, SCRIPT, assert_one_line

HISTORIES = pytest.mark.parametrize("history", ["linear", "tree"])
MODES = pytest.mark.parametrize("mode", ["whole", "stream"])
MODEL = "titocli"


def openai_results(message: Any, result: str) -> list[dict[str, Any]]:
    return [{"role": "tool", "tool_call_id": each.id, "content": result} for each in message.tool_calls or []]


def anthropic_results(message: Any, result: str) -> dict[str, Any]:
    uses = [block for block in message.content if block.type == "tool_use"]
    blocks = [{"type": "tool_result", "tool_use_id": use.id, "content": result} for use in uses]
    return {"role": "user", "content": blocks}


def openai_task(client: openai.OpenAI, mode: str) -> str:
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    for result in [*RESULTS, ""]:
        asked: dict[str, Any] = {"model": MODEL, "messages": messages, "tools": OPENAI_TOOLS}
        if mode == "stream":
            with client.chat.completions.stream(**asked) as stream:
                message = stream.get_final_completion().choices[0].message
        else:
            message = client.chat.completions.create(**asked).choices[0].message
        messages += [message.model_dump(exclude_none=True), *openai_results(message, result)]
    return str(message.content)


async def async_openai_task(client: openai.AsyncOpenAI, mode: str) -> str:
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    for result in [*RESULTS, ""]:
        asked: dict[str, Any] = {"model": MODEL, "messages": messages, "tools": OPENAI_TOOLS}
        if mode == "stream":
            async with client.chat.completions.stream(**asked) as stream:
                message = (await stream.get_final_completion()).choices[0].message
        else:
            message = (await client.chat.completions.create(**asked)).choices[0].message
        messages += [message.model_dump(exclude_none=True), *openai_results(message, result)]
    return str(message.content)


def anthropic_task(client: anthropic.Anthropic, mode: str) -> str:
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    for result in [*RESULTS, ""]:
        asked: dict[str, Any] = {
            "model": MODEL,
            "max_tokens": 100,
            "messages": messages,
            "tools": ANTHROPIC_TOOLS,
        }
        if mode == "stream":
            with client.messages.stream(**asked) as stream:
                message: Any = stream.get_final_message()
        else:
            message = client.messages.create(**asked)
        messages += [{"role": "assistant", "content": message.content}, anthropic_results(message, result)]
    return str(message.content[-1].text)


async def async_anthropic_task(client: anthropic.AsyncAnthropic, mode: str) -> str:
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    for result in [*RESULTS, ""]:
        asked: dict[str, Any] = {
            "model": MODEL,
            "max_tokens": 100,
            "messages": messages,
            "tools": ANTHROPIC_TOOLS,
        }
        if mode == "stream":
            async with client.messages.stream(**asked) as stream:
                message: Any = await stream.get_final_message()
        else:
            message = await client.messages.create(**asked)
        messages += [{"role": "assistant", "content": message.content}, anthropic_results(message, result)]
    return str(message.content[-1].text)


def with_openai(base_url: str, mode: str) -> str:
    with openai.OpenAI(base_url=f"{base_url}/v1", api_key="none") as client:
        return openai_task(client, mode)


async def with_async_openai(base_url: str, mode: str) -> str:
    async with openai.AsyncOpenAI(base_url=f"{base_url}/v1", api_key="none") as client:
        return await async_openai_task(client, mode)


def with_anthropic(base_url: str, mode: str) -> str:
    with anthropic.Anthropic(base_url=base_url, api_key="none") as client:
        return anthropic_task(client, mode)


async def with_async_anthropic(base_url: str, mode: str) -> str:
    async with anthropic.AsyncAnthropic(base_url=base_url, api_key="none") as client:
        return await async_anthropic_task(client, mode)


@pytest.mark.parametrize("work", [with_openai, with_async_openai, with_anthropic, with_async_anthropic])
@MODES
@HISTORIES
def test_the_task_is_one_line_of_tokens(
    serve: Serve, mode: str, history: str, work: Callable[[str, str], Any]
) -> None:
    with serve(SCRIPT, "--history", history) as server:
        base_url = server.new_session()
        done = work(base_url, mode)
        said = asyncio.run(done) if asyncio.iscoroutine(done) else done
        shown = server.shown(base_url)

    assert said == FINAL
    assert_one_line(shown)
