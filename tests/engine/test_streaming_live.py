"""Streaming conversations through the real SGLang: its ids are the stored ones, and its pieces arrive early."""

from __future__ import annotations

import json
import time
from typing import Any

import httpx
import openai
import pytest
from openai.lib.streaming.chat import ChatCompletionStreamState

from tests.assets import qwen3_tokenizer
from tests.engine.test_conversation_live import ANSWER, CALL, TOOL
from tests.server.conftest import running
from titocli.engine.sglang import SglangEngine
from titocli.families.registry import get_family
from titocli.families.renderer import family_renderer
from titocli.server.state import SessionServer
from titocli.session.history import HistoryPolicy
from titocli.tokens.loading import load_tokenizer

pytestmark = pytest.mark.engine

TURNS = 10


def steering(number: int) -> Any:
    return {
        "regex": ANSWER if number % 4 == 3 else CALL,
        "chat_template_kwargs": {"enable_thinking": False},
        "return_prompt_token_ids": True,
        "logit_bias": {"151643": -100},
    }


def next_messages(message: Any, number: int) -> list[Any]:
    calls = message.get("tool_calls") or []
    if not calls:
        return [message, {"role": "user", "content": f"And elsewhere, {number}?"}]
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": f"{number} degrees, ü\u2028"}
        for call in calls
    ]
    return [message, *results]


def tap(engine: SglangEngine) -> list[Any]:
    """What the engine's streams say of ids and log-probs, read beside the adapter."""
    seen: list[Any] = []
    read = engine._http.post_chat

    async def tapped(request: Any, content: bytes) -> httpx.Response:
        response = await read(request, content)
        pieces = response.aiter_bytes

        async def noted(chunk_size: int | None = None) -> Any:
            body = b""
            async for piece in pieces(chunk_size):
                body += piece
                yield piece
            seen.append([json.loads(line[6:]) for line in body.split(b"\n") if line.startswith(b"data: {")])

        response.aiter_bytes = noted  # type: ignore[method-assign] # a tap
        return response

    engine._http.post_chat = tapped  # type: ignore[method-assign] # a tap
    return seen


@pytest.mark.regression("R31")
@pytest.mark.parametrize("policy", list(HistoryPolicy))
def test_streamed_turns_keep_the_engines_ids_and_replay_strictly(
    sglang_url: str, policy: HistoryPolicy
) -> None:
    tokenizer = load_tokenizer(str(qwen3_tokenizer()))
    engine = SglangEngine(sglang_url, vocab_size=tokenizer.vocab_size)
    seen = tap(engine)
    renderer = family_renderer(get_family("qwen3"), tokenizer)
    server = SessionServer(renderer=renderer, engine=engine, policy=policy)
    messages: list[Any] = [{"role": "user", "content": "Weather in Paris?"}]
    spread: list[float] = []
    with running(server) as url, httpx.Client(timeout=60) as http:
        base = http.post(f"{url}/sessions").json()["base_url"]
        with openai.OpenAI(base_url=f"{base}/v1", api_key="none", timeout=120) as client:
            for number in range(TURNS):
                arrivals = []
                state: Any = ChatCompletionStreamState()
                for chunk in client.chat.completions.create(
                    model="tiny",
                    messages=messages,
                    tools=[TOOL],
                    max_tokens=300,
                    logprobs=True,
                    stream=True,
                    stream_options={"include_usage": True},
                    extra_body=steering(number),
                ):
                    arrivals.append(time.monotonic())
                    state.handle_chunk(chunk)
                spread.append(arrivals[-1] - arrivals[0])
                message = state.get_final_completion().choices[0].message
                messages += next_messages(message.model_dump(exclude_none=True), number)
        shown = http.get(base).json()

    records = shown["records"]
    prompts = [record["request"]["input_ids"] for record in records]
    outputs = [record["response"]["output_ids"] for record in records]
    assert len(records) == TURNS
    assert [node["parent"] for node in shown["metadata"]["tree"]["nodes"]] == [None, *range(TURNS - 1)]
    told = [[chunk["sglext"] for chunk in stream if chunk.get("sglext")][-1] for stream in seen]
    assert [each["output_ids"][0] for each in told] == outputs
    assert [each["input_ids"] for each in told] == prompts
    log_probs = [
        [
            entry["logprob"]
            for chunk in stream
            for choice in chunk["choices"]
            for entry in (choice.get("logprobs") or {"content": []})["content"]
        ]
        for stream in seen
    ]
    assert [record["response"]["output_log_probs"] for record in records] == log_probs
    for turn in range(1, TURNS):
        before = prompts[turn - 1] + outputs[turn - 1]
        assert prompts[turn][: len(before)] == before
    assert sum(tokenizer.encode(tokenizer.decode(ids)) != ids for ids in outputs) >= TURNS // 2
    assert sum(bool(record["response"]["choices"][0]["message"].get("tool_calls")) for record in records) >= 5
    # Only the first stream of an engine is held back; the others arrive while they are generated.
    assert max(spread[1:]) > 0.05
    hard = [m for m in shown["metadata"]["tito_session_mismatch"] if m["type"] != "assistant_text"]
    assert hard == []


def test_a_client_that_goes_away_stops_the_engine(sglang_url: str) -> None:
    tokenizer = load_tokenizer(str(qwen3_tokenizer()))
    engine = SglangEngine(sglang_url, vocab_size=tokenizer.vocab_size)
    server = SessionServer(renderer=family_renderer(get_family("qwen3"), tokenizer), engine=engine)
    endless = {"max_tokens": 20_000, "ignore_eos": True, "stream": True}
    with running(server) as url, httpx.Client(timeout=60) as http:
        base = http.post(f"{url}/sessions").json()["base_url"]
        asked = {"messages": [{"role": "user", "content": "Count."}]}
        short = http.post(f"{base}/v1/chat/completions", json={**asked, "max_tokens": 2, "stream": True})
        assert short.status_code == 200
        with http.stream("POST", f"{base}/v1/chat/completions", json={**asked, **endless}) as response:
            next(response.iter_lines())
        deadline = time.monotonic() + 20
        while http.get(f"{sglang_url}/v1/loads").json()["loads"][0]["num_running_reqs"]:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        nodes = http.get(base).json()["metadata"]["tree"]["nodes"]

    assert len(nodes) == 1
