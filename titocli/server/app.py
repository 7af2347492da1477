"""The ASGI application: sessions over HTTP."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar
from uuid import uuid4

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from titocli import __version__
from titocli.engine.protocol import Engine
from titocli.errors import InvalidMessages, TitoError
from titocli.families.control_tokens import ControlTokens
from titocli.families.renderer import Renderer
from titocli.jsonvalue import JsonValue
from titocli.server.http import error_response, json_response, read_object
from titocli.server.registry import LiveSession, SessionRegistry
from titocli.session.history import HistoryPolicy
from titocli.session.session import Plan, Session
from titocli.session.tree import Turn
from titocli.wire.openai_reply import chat_completion, choice_log_probs
from titocli.wire.openai_request import ChatRequest, chat_request
from titocli.wire.session_view import samples_view, session_view

P = ParamSpec("P")
R = TypeVar("R")

#: Threads that render, encode and assemble; each holds a tokenizer of its own.
WORKER_THREADS = 2


@dataclass(frozen=True, kw_only=True)
class SessionServer:
    """What the routes share: the renderer, the engine, the sessions, the worker threads."""

    renderer: Renderer
    engine: Engine
    policy: HistoryPolicy = HistoryPolicy.TREE
    control_tokens: ControlTokens = ControlTokens.TEXT
    launch_kwargs: Mapping[str, JsonValue] = field(default_factory=dict)
    registry: SessionRegistry = field(default_factory=SessionRegistry)
    workers: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(WORKER_THREADS, thread_name_prefix="titocli")
    )

    async def off_loop(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run CPU work in a worker thread: the event loop only waits."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self.workers, lambda: work(*args, **kwargs))
        except RecursionError as error:
            raise InvalidMessages("the messages are nested too deeply") from error

    async def create(self, request: Request) -> Response:
        """``POST /sessions``."""
        await read_object(request)
        session = Session(
            self.renderer,
            self.policy,
            launch_kwargs=self.launch_kwargs,
            control_tokens=self.control_tokens,
        )
        live = self.registry.add(session)
        base_url = str(request.url.replace(query=None)).rstrip("/") + f"/{live.id}"
        return json_response({"session_id": live.id, "base_url": base_url})

    async def chat(self, request: Request) -> Response:
        """``POST /sessions/{id}/v1/chat/completions``."""
        requested_at = time.time()
        live = self._live(request)
        asked = chat_request(await read_object(request))
        turn = await self._generate(live, asked, requested_at)
        log_probs = choice_log_probs(turn, self.renderer.tokenizer) if asked.log_probs else None
        return json_response(chat_completion(turn, log_probs=log_probs))

    async def _generate(self, live: LiveSession, asked: ChatRequest, requested_at: float) -> Turn:
        async with live.lock:
            plan: Plan = await self.off_loop(live.session.plan, asked.turn)
        completion = await self.engine.generate(plan.request(request_id=uuid4().hex, session_id=live.id))
        async with live.lock:
            self.registry.get(live.id)  # deleted meanwhile: the client is told, nothing is kept
            return live.session.commit(plan, completion, requested_at=requested_at, committed_at=time.time())

    async def show(self, request: Request) -> Response:
        """``GET /sessions/{id}``."""
        live = self._live(request)
        async with live.lock:
            return await self.off_loop(lambda: json_response(session_view(live.id, live.session)))

    async def samples(self, request: Request) -> Response:
        """``GET`` or ``POST /sessions/{id}/samples``."""
        live = self._live(request)
        async with live.lock:
            return await self.off_loop(lambda: json_response(samples_view(live.id, live.session)))

    async def delete(self, request: Request) -> Response:
        """``DELETE /sessions/{id}``."""
        self.registry.delete(request.path_params["session_id"])
        return Response(status_code=204)

    async def health(self, _: Request) -> Response:
        """``GET /health``."""
        return json_response(
            {
                "status": "ok",
                "version": __version__,
                "family": self.renderer.family.name,
                "history": self.policy.value,
                "message_matcher": "strict",
                "append_roles": list(self.renderer.family.append_roles),
                "engine": {"kind": self.engine.name, "model": self.engine.model},
                "sessions": len(self.registry),
            }
        )

    def _live(self, request: Request) -> LiveSession:
        return self.registry.get(request.path_params["session_id"])


def create_app(server: SessionServer) -> Starlette:
    """The application's routes; the engine is started and closed by whoever runs it."""
    session = "/sessions/{session_id:str}"
    return Starlette(
        routes=[
            Route("/health", server.health),
            Route("/sessions", server.create, methods=["POST"]),
            Route(f"{session}/v1/chat/completions", server.chat, methods=["POST"]),
            Route(f"{session}/samples", server.samples, methods=["GET", "POST"]),
            Route(session, server.show, methods=["GET"]),
            Route(session, server.delete, methods=["DELETE"]),
        ],
        exception_handlers={TitoError: _on_tito_error, HTTPException: _on_http_error},
    )


async def _on_tito_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, TitoError)  # noqa: S101 - registered for this class alone
    return error_response(error)


async def _on_http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class alone
    body: JsonValue = {
        "error": {
            "message": error.detail,
            "type": "invalid_request_error",
            "code": "http_error",
            "param": None,
        }
    }
    return json_response(body, status=error.status_code)


__all__ = ["SessionServer", "create_app"]
