"""Generations of the tiny model, piece by piece."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.engine_embedded.requests import TOKENIZER, WEATHER, a_request
from titocli.engine.embedded import EmbeddedEngine
from titocli.engine.pieces import MessageAssembly
from titocli.errors import UnsupportedRequest
from titocli.families.registry import get_family
from titocli.session.generation import Completion, GenerateRequest

REQUIRED = {"tool_choice": "required"}


@pytest.fixture(scope="module")
def started() -> Iterator[tuple[EmbeddedEngine, asyncio.Runner]]:
    engine = EmbeddedEngine(get_family("qwen3"), TOKENIZER)
    with asyncio.Runner() as runner:
        runner.run(engine.start())
        yield engine, runner
        runner.run(engine.aclose())


def streamed(started: tuple[EmbeddedEngine, asyncio.Runner], request: GenerateRequest) -> list[Any]:
    engine, runner = started

    async def all_pieces() -> list[Any]:
        return [piece async for piece in engine.stream(request)]

    return runner.run(all_pieces())


@pytest.mark.parametrize(
    "request_",
    [
        a_request(session_id="a"),
        a_request(session_id="b", tools=(WEATHER,), options=REQUIRED),
        a_request(session_id="c", options={"max_tokens": 3}),
    ],
)
def test_the_pieces_put_together_are_the_message_of_the_whole_generation(
    started: tuple[EmbeddedEngine, asyncio.Runner], request_: GenerateRequest
) -> None:
    *pieces, completion = streamed(started, request_)
    engine, runner = started
    whole = runner.run(engine.generate(request_))
    assembly = MessageAssembly()
    for piece in pieces:
        assembly.add(piece)

    assert isinstance(completion, Completion)
    assert (completion.ids, completion.message) == (whole.ids, whole.message)
    assert completion.finish_reason is whole.finish_reason
    assert completion.log_probs.tolist() == pytest.approx(whole.log_probs.tolist(), abs=1e-3)
    assert assembly.message() == completion.message
    assert len(pieces) > 0


def test_pieces_come_while_ids_are_drawn(started: tuple[EmbeddedEngine, asyncio.Runner]) -> None:
    engine, runner = started

    async def before_the_first_piece() -> int:
        stream = engine.stream(a_request(session_id="early"))
        await anext(stream)
        running = len(engine._running)
        await stream.aclose()
        return running

    assert runner.run(before_the_first_piece()) == 1


def test_a_stream_that_is_closed_ends_the_generation(started: tuple[EmbeddedEngine, asyncio.Runner]) -> None:
    engine, runner = started

    async def close_early() -> int:
        stream = engine.stream(a_request(session_id="closed", options={"max_tokens": 500}))
        await anext(stream)
        await stream.aclose()
        await asyncio.sleep(0)
        return len(engine._running)

    assert runner.run(close_early()) == 0
    assert streamed(started, a_request(session_id="after"))


def test_an_option_that_cannot_be_honoured_is_refused_before_the_first_piece(
    started: tuple[EmbeddedEngine, asyncio.Runner],
) -> None:
    with pytest.raises(UnsupportedRequest):
        streamed(started, a_request(options={"regex": "a"}))


@pytest.mark.case("c19")
def test_the_likeliest_ids_of_each_step_are_told_when_asked_for(
    started: tuple[EmbeddedEngine, asyncio.Runner],
) -> None:
    completion = streamed(started, a_request(session_id="top", options={"top_logprobs": 2}))[-1]

    assert len(completion.top_log_probs) == len(completion.ids)
    for alternatives in completion.top_log_probs:
        first, second = alternatives
        assert first["logprob"] >= second["logprob"]
        assert first["token"].encode(errors="replace") == bytes(first["bytes"]) or "\ufffd" in first["token"]
