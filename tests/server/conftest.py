"""A session server on a loopback socket, with an engine that the test scripts."""

from __future__ import annotations

import asyncio
import threading
import time
from array import array
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
import uvicorn

from tests.session.conftest import renderer_of
from titocli.engine.pieces import replayed
from titocli.errors import EngineUnreachable
from titocli.server.app import create_app
from titocli.server.serve import base_url, bind
from titocli.server.state import SessionServer
from titocli.session.generation import Completion, FinishReason, GenerateRequest, MessageDelta
from titocli.session.history import HistoryPolicy
from titocli.tokens.ids import token_ids

Answer = Callable[[GenerateRequest], Completion]


@dataclass
class ScriptedEngine:
    """Answers as the test says, and remembers what it was asked."""

    answer: Answer | None = None
    error: Exception | None = None
    requests: list[GenerateRequest] = field(default_factory=list)
    release: threading.Event | None = None
    name: str = "scripted"
    model: str = "scripted-model"
    vocab_size: int = 512
    context_length: int | None = None
    cancelled: list[str] = field(default_factory=list)
    #: A stream waits for it after each piece.
    hold: threading.Event | None = None
    #: A stream breaks instead of giving its piece of this number.
    break_after: int | None = None
    broken_by: Exception = field(default_factory=lambda: EngineUnreachable("the engine died"))

    async def start(self) -> None: ...

    async def aclose(self) -> None: ...

    async def generate(self, request: GenerateRequest) -> Completion:
        self.requests.append(request)
        if self.release is not None:
            await self._until(self.release, request)
        if self.error is not None:
            raise self.error
        return (self.answer or plain_answer)(request)

    async def stream(self, request: GenerateRequest) -> AsyncGenerator[MessageDelta | Completion, None]:
        completion = await self.generate(request)
        for count, piece in enumerate(replayed(completion)):
            if count == self.break_after:
                raise self.broken_by
            yield piece
            if self.hold is not None:
                await self._until(self.hold, request)

    async def _until(self, event: threading.Event, request: GenerateRequest) -> None:
        deadline = time.monotonic() + 30
        try:
            while not event.is_set():
                assert time.monotonic() < deadline
                await asyncio.sleep(0.005)
        except (asyncio.CancelledError, GeneratorExit):
            self.cancelled.append(request.request_id)
            raise


def plain_answer(request: GenerateRequest, text: str = "fine", finish: str = "stop") -> Completion:
    ids = [*text.encode(), 258]  # 258: <|im_end|> of the byte-level tokenizer
    return Completion(
        ids=token_ids(ids),
        log_probs=array("d", [-0.25 * (1 + at) for at in range(len(ids))]),
        finish_reason=FinishReason(finish),
        message={"role": "assistant", "content": text},
        response_id=request.request_id,
        model="scripted-model",
        cached_tokens=3,
        metadata={"e2e_latency": 0.1},
    )


@contextmanager
def running(server: SessionServer) -> Iterator[str]:
    """The URL of the server while it runs in a thread."""
    listener = bind("127.0.0.1", 0)
    runner = uvicorn.Server(uvicorn.Config(create_app(server), log_level="error", lifespan="off", ws="none"))

    async def main() -> None:
        await server.engine.start()
        try:
            await runner.serve(sockets=[listener])
        finally:
            await server.engine.aclose()

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    while not runner.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield base_url(listener)
    finally:
        runner.should_exit = True
        thread.join()
        server.workers.shutdown()
        server.parser.shutdown()
        server.samples.workers.shutdown()
        listener.close()


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine()


def serve_family(engine: Any, family: str, policy: HistoryPolicy) -> SessionServer:
    return SessionServer(renderer=renderer_of(family), engine=engine, policy=policy)


@pytest.fixture(params=list(HistoryPolicy))
def client(request: pytest.FixtureRequest, engine: ScriptedEngine) -> Iterator[httpx.Client]:
    server = serve_family(engine, "qwen3", request.param)
    with running(server) as url, httpx.Client(base_url=url, timeout=30) as http:
        yield http


@pytest.fixture
def session(client: httpx.Client) -> str:
    return str(client.post("/sessions").json()["session_id"])
