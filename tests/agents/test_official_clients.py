"""The official ``openai`` and ``anthropic`` clients do a tool task; what they send back is what is stored."""

from __future__ import annotations

import asyncio
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


@MODES
@HISTORIES
def test_the_openai_client(serve: Serve, mode: str, history: str) -> None:
    with serve(SCRIPT, "--history", history) as server:
        base_url = server.new_session()
        with openai.OpenAI(base_url=f"{base_url}/v1", api_key="none") as client:
            said = openai_task(client, mode)
        shown = server.shown(base_url)

    assert said == FINAL
    assert_one_line(shown)


@MODES
@HISTORIES
def test_the_asynchronous_openai_client(serve: Serve, mode: str, history: str) -> None:
    async def task(base_url: str) -> str:
        async with openai.AsyncOpenAI(base_url=f"{base_url}/v1", api_key="none") as client:
            return await async_openai_task(client, mode)

    with serve(SCRIPT, "--history", history) as server:
        base_url = server.new_session()
        said = asyncio.run(task(base_url))
        shown = server.shown(base_url)

    assert said == FINAL
    assert_one_line(shown)


@MODES
@HISTORIES
def test_the_anthropic_client(serve: Serve, mode: str, history: str) -> None:
    with serve(SCRIPT, "--history", history) as server:
        base_url = server.new_session()
        with anthropic.Anthropic(base_url=base_url, api_key="none") as client:
            said = anthropic_task(client, mode)
        shown = server.shown(base_url)

    assert said == FINAL
    assert_one_line(shown)


@MODES
@HISTORIES
def test_the_asynchronous_anthropic_client(serve: Serve, mode: str, history: str) -> None:
    async def task(base_url: str) -> str:
        async with anthropic.AsyncAnthropic(base_url=base_url, api_key="none") as client:
            return await async_anthropic_task(client, mode)

    with serve(SCRIPT, "--history", history) as server:
        base_url = server.new_session()
        said = asyncio.run(task(base_url))
        shown = server.shown(base_url)

    assert said == FINAL
    assert_one_line(shown)
