"""Streamed chat completions over real sockets, and through the official client."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

from tests.session.conftest import renderer_of
from titocli.errors import EngineUnreachable
from titocli.server.state import SessionServer
from titocli.session.history import HistoryPolicy

from .conftest import ScriptedEngine, plain_answer, running
from .events import CALLS, THOUGHTFUL, TOOLS, U, events_of, opened, streamed, thoughtful

RESULTS = [{"role": "tool", "tool_call_id": call["id"], "content": "r"} for call in CALLS]


@pytest.fixture
def impatient(engine: ScriptedEngine) -> Iterator[httpx.Client]:
    """A client of a server that sends a sign of life every 50 ms."""
    server = SessionServer(renderer=renderer_of("qwen3"), engine=engine, keep_alive_seconds=0.05)
    with running(server) as url, httpx.Client(base_url=url, timeout=30) as http:
        yield http


def created(http: httpx.Client) -> str:
    return str(http.post("/sessions").json()["session_id"])


def until(condition: Any, seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.regression("R31")
@pytest.mark.case("c16")
def test_a_stream_is_the_role_the_pieces_the_reason_the_usage_and_the_end(
    client: httpx.Client, session: str, engine: ScriptedEngine
) -> None:
    engine.answer = thoughtful
    *chunks, done = streamed(client, session, [U], tools=TOOLS, stream_options={"include_usage": True})

    assert done == "[DONE]"
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert len({(chunk["id"], chunk["created"], chunk["model"]) for chunk in chunks}) == 1
    *told, usage = chunks
    assert [chunk["choices"][0]["delta"] for chunk in told] == [
        {"role": "assistant", "content": ""},
        {"reasoning_content": "hm"},
        {"content": "so"},
        {"tool_calls": [{"index": 0, **CALLS[0]}]},
        {"tool_calls": [{"index": 1, **CALLS[1]}]},
        {},
    ]
    assert [chunk["choices"][0]["finish_reason"] for chunk in told] == [None] * 5 + ["tool_calls"]
    assert {chunk["usage"] for chunk in told} == {None}
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] == 5
    record = client.get(f"/sessions/{session}").json()["records"][0]
    assert usage["id"] == record["response"]["id"]


def test_without_being_asked_no_usage_is_sent(client: httpx.Client, session: str) -> None:
    chunks = streamed(client, session, [U])[:-1]

    assert all("usage" not in chunk and chunk["choices"] for chunk in chunks)


def test_a_stream_may_not_be_cached_or_buffered(client: httpx.Client, session: str) -> None:
    with opened(client, session, [U]) as response:
        response.read()

    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["cache-control"] == "no-cache"
    assert response.headers["x-accel-buffering"] == "no"


@pytest.mark.case("c19")
def test_streamed_log_probs_are_those_of_the_whole_reply(client: httpx.Client, session: str) -> None:
    chunks = streamed(client, session, [U], logprobs=True)[:-1]
    whole = client.post(
        f"/sessions/{session}/v1/chat/completions", json={"messages": [U], "logprobs": True}
    ).json()
    told = [chunk["choices"][0]["logprobs"] for chunk in chunks]

    assert [item for item in told if item] == [whole["choices"][0]["logprobs"]]
    assert all(chunk["choices"][0]["logprobs"] is None for chunk in streamed(client, session, [U])[:-1])


def official_client(kind: Any, base_url: str) -> Any:
    """The official client, without its types: the tests send plain objects."""
    return kind(base_url=base_url, api_key="none", max_retries=0)


def replayable(chunks: list[Any]) -> Any:
    """The message as the official client puts it together."""
    from openai.lib.streaming.chat import ChatCompletionStreamState
    from openai.types.chat import ChatCompletionChunk

    state: Any = ChatCompletionStreamState()
    for chunk in chunks:
        state.handle_chunk(ChatCompletionChunk.model_validate(chunk))
    return state.get_final_completion().choices[0].message.model_dump(exclude_none=True)


@pytest.mark.regression("R31")
def test_what_the_official_client_puts_together_continues_the_turn(
    client: httpx.Client, session: str, engine: ScriptedEngine
) -> None:
    engine.answer = thoughtful
    base_url = f"{client.base_url}/sessions/{session}/v1"
    with official_client(openai.OpenAI, base_url) as official:
        stream = official.chat.completions.create(model="m", messages=[U], tools=TOOLS, stream=True)
        message = replayable([json.loads(chunk.model_dump_json()) for chunk in stream])
        again = official.chat.completions.create(
            model="m", messages=[U, message, *RESULTS], tools=TOOLS, stream=True
        )
        said = "".join(chunk.choices[0].delta.content or "" for chunk in again if chunk.choices)
    shown = client.get(f"/sessions/{session}").json()

    assert said == "fine"
    assert [node["parent"] for node in shown["metadata"]["tree"]["nodes"]] == [None, 0]
    assert shown["records"][1]["request"]["messages"][1] == THOUGHTFUL


def test_the_official_async_client_streams_too(
    client: httpx.Client, session: str, engine: ScriptedEngine
) -> None:
    engine.answer = thoughtful

    async def play() -> Any:
        base_url = f"{client.base_url}/sessions/{session}/v1"
        async with official_client(openai.AsyncOpenAI, base_url) as official:
            stream = await official.chat.completions.create(model="m", messages=[U], tools=TOOLS, stream=True)
            message = replayable([json.loads(chunk.model_dump_json()) async for chunk in stream])
            whole = await official.chat.completions.create(
                model="m", messages=[U, message, *RESULTS], tools=TOOLS
            )
            return whole.choices[0].message.content

    assert asyncio.run(play()) == "fine"
    shown = client.get(f"/sessions/{session}").json()
    assert [node["parent"] for node in shown["metadata"]["tree"]["nodes"]] == [None, 0]


@pytest.mark.case("c14")
def test_signs_of_life_come_before_the_first_piece_and_change_nothing(
    impatient: httpx.Client, engine: ScriptedEngine
) -> None:
    session = created(impatient)
    engine.release = threading.Event()
    with opened(impatient, session, [U]) as response:
        lines = response.iter_lines()
        waited = [next(lines) for _ in range(6)]
        engine.release.set()
        events = events_of("\n".join(lines))

    assert waited == [": keep-alive", ""] * 3
    assert "".join(event["choices"][0]["delta"].get("content", "") for event in events[:-1]) == "fine"
    assert events[-1] == "[DONE]"


@pytest.mark.case("c14")
def test_signs_of_life_come_between_pieces(impatient: httpx.Client, engine: ScriptedEngine) -> None:
    session = created(impatient)
    engine.hold = threading.Event()
    with opened(impatient, session, [U]) as response:
        lines = (line for line in response.iter_lines() if line)
        first = [next(lines) for _ in range(4)]
        engine.hold.set()
        rest = list(lines)

    assert [line.startswith("data: ") for line in first] == [True, True, False, False]
    assert rest[-1] == "data: [DONE]"


def test_an_error_before_the_first_piece_keeps_its_status(
    client: httpx.Client, session: str, engine: ScriptedEngine
) -> None:
    engine.error = EngineUnreachable("gone")
    with opened(client, session, [U]) as failed:
        failed.read()
    with opened(client, session, "nonsense") as refused:
        refused.read()

    assert (failed.status_code, failed.json()["error"]["code"]) == (502, "engine_unreachable")
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_messages")
    assert client.get(f"/sessions/{session}").json()["records"] == []


@pytest.mark.case("c13")
def test_an_engine_that_dies_in_the_middle_is_an_error_event_and_no_end(
    client: httpx.Client, session: str, engine: ScriptedEngine
) -> None:
    engine.answer, engine.break_after = thoughtful, 2
    events = streamed(client, session, [U], tools=TOOLS)

    assert events[-1]["error"]["code"] == "engine_unreachable"
    assert "[DONE]" not in events
    assert all(event["choices"][0]["finish_reason"] is None for event in events[:-1])
    assert client.get(f"/sessions/{session}").json()["records"] == []


@pytest.mark.case("c13")
def test_the_official_client_raises_for_an_error_in_the_middle(
    client: httpx.Client, session: str, engine: ScriptedEngine
) -> None:
    engine.break_after = 1
    base_url = f"{client.base_url}/sessions/{session}/v1"
    with (
        official_client(openai.OpenAI, base_url) as official,
        pytest.raises(openai.APIError, match="the engine died"),
    ):
        list(official.chat.completions.create(model="m", messages=[U], stream=True))


@pytest.mark.case("c14")
def test_an_error_after_signs_of_life_is_an_event(impatient: httpx.Client, engine: ScriptedEngine) -> None:
    session = created(impatient)
    engine.release, engine.error = threading.Event(), EngineUnreachable("gone")
    with opened(impatient, session, [U]) as response:
        lines = response.iter_lines()
        assert next(lines) == ": keep-alive"
        engine.release.set()
        events = events_of("\n".join(lines))

    assert [event["error"]["code"] for event in events] == ["engine_unreachable"]


@pytest.mark.regression("R30")
@pytest.mark.hazard(3)
def test_a_stream_that_cannot_be_committed_says_so(engine: ScriptedEngine) -> None:
    server = SessionServer(renderer=renderer_of("qwen3"), engine=engine, policy=HistoryPolicy.LINEAR)
    with running(server) as url, httpx.Client(base_url=url, timeout=30) as http:
        session = created(http)
        engine.hold = threading.Event()
        with opened(http, session, [U]) as response:
            lines = (line for line in response.iter_lines() if line)
            next(lines)
            first = httpx.post(
                f"{url}/sessions/{session}/v1/chat/completions", json={"messages": [U]}, timeout=30
            )
            engine.hold.set()
            events = events_of("\n".join(lines))
        shown = http.get(f"/sessions/{session}").json()

    assert first.status_code == 200
    assert events[-1]["error"]["code"] == "stale_commit"
    assert "[DONE]" not in events
    assert len(shown["metadata"]["tree"]["nodes"]) == 1


def test_a_client_that_goes_away_cancels_the_generation(
    client: httpx.Client, session: str, engine: ScriptedEngine
) -> None:
    engine.hold = threading.Event()
    with opened(client, session, [U]) as response:
        next(response.iter_lines())
    until(lambda: engine.cancelled)

    assert client.get(f"/sessions/{session}").json()["records"] == []


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_goes_away_before_any_answer_cancels_the_generation(
    client: httpx.Client, session: str, engine: ScriptedEngine, stream: bool
) -> None:
    engine.release = threading.Event()
    path = f"/sessions/{session}/v1/chat/completions"
    with (
        httpx.Client(base_url=client.base_url, timeout=0.3) as leaving,
        pytest.raises(httpx.ReadTimeout),
    ):
        leaving.post(path, json={"messages": [U], "stream": stream})
    until(lambda: engine.cancelled)
    engine.release.set()

    assert client.post(path, json={"messages": [U]}).status_code == 200
    assert len(client.get(f"/sessions/{session}").json()["records"]) == 1


def test_a_length_limit_is_told_in_the_last_choice(
    client: httpx.Client, session: str, engine: ScriptedEngine
) -> None:
    engine.answer = lambda request: plain_answer(request, finish="length")

    assert streamed(client, session, [U])[-2]["choices"][0]["finish_reason"] == "length"
