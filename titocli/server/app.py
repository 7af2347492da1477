"""The ASGI application: which path is answered by what."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from titocli.errors import TitoError
from titocli.jsonvalue import JsonValue
from titocli.server import chat, lifecycle, operations, sample_routes
from titocli.server.http import error_response, json_response
from titocli.server.state import SessionServer

Answer = Callable[[SessionServer, Request], Awaitable[Response]]

_SESSION = "/sessions/{session_id:str}"
#: Every path with its methods and what answers it.
ROUTES: tuple[tuple[str, tuple[str, ...], Answer], ...] = (
    ("/health", ("GET",), operations.health),
    ("/sessions", ("POST",), lifecycle.create),
    (_SESSION, ("GET",), lifecycle.show),
    (_SESSION, ("DELETE",), lifecycle.delete),
    (f"{_SESSION}/v1/chat/completions", ("POST",), chat.chat),
    (f"{_SESSION}/samples", ("GET", "POST"), sample_routes.samples),
)


def create_app(server: SessionServer) -> Starlette:
    """The application; the engine is started and closed by whoever runs it."""
    return Starlette(
        routes=[
            Route(path, _bound(answer, server), methods=list(methods)) for path, methods, answer in ROUTES
        ],
        exception_handlers={TitoError: _on_tito_error, HTTPException: _on_http_error},
    )


def _bound(answer: Answer, server: SessionServer) -> Callable[[Request], Awaitable[Response]]:
    return partial(answer, server)


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


__all__ = ["create_app"]
