"""The ASGI application: which path is answered by what.

There is no proxy: a path that is not here is a 404, and nothing of an engine can be reached through it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from uuid import uuid4

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from titocli.errors import InternalError, MethodNotAllowed, TitoError, UnknownPath
from titocli.server import chat, lifecycle, messages, operations, sample_routes
from titocli.server.http import anthropic_error_response, error_response
from titocli.server.state import SessionServer

Answer = Callable[[SessionServer, Request], Awaitable[Response]]

_SESSION = "/sessions/{session_id:str}"
#: Every path with its methods and what answers it.
ROUTES: tuple[tuple[str, tuple[str, ...], Answer], ...] = (
    ("/health", ("GET",), operations.health),
    ("/ready", ("GET",), operations.ready),
    ("/openapi.json", ("GET",), operations.openapi),
    ("/sessions", ("GET",), lifecycle.index),
    ("/sessions", ("POST",), lifecycle.create),
    (_SESSION, ("GET",), lifecycle.show),
    (_SESSION, ("DELETE",), lifecycle.delete),
    (f"{_SESSION}/abort", ("POST",), lifecycle.abort),
    (f"{_SESSION}/v1/models", ("GET",), chat.models),
    (f"{_SESSION}/v1/chat/completions", ("POST",), chat.chat),
    (f"{_SESSION}/v1/messages", ("POST",), messages.messages),
    (f"{_SESSION}/v1/messages/count_tokens", ("POST",), messages.count_tokens),
    (f"{_SESSION}/samples", ("GET", "POST"), sample_routes.samples),
)
#: uvicorn's, which writes to the server's stderr.
_LOG = logging.getLogger("uvicorn.error")
#: Answered without an API key: whoever watches the server has none.
_OPEN_PATHS = ("/health", "/ready")
_METHOD_NOT_ALLOWED, _CLIENT_GONE = 405, 499


def create_app(server: SessionServer) -> Starlette:
    """The application; the engine is started and closed by whoever runs it."""
    return Starlette(
        routes=[
            Route(path, _guarded(answer, server), methods=list(methods)) for path, methods, answer in ROUTES
        ],
        exception_handlers={
            TitoError: _on_tito_error,
            HTTPException: _on_http_error,
            ClientDisconnect: _on_disconnect,
        },
    )


def _guarded(answer: Answer, server: SessionServer) -> Callable[[Request], Awaitable[Response]]:
    async def answered(request: Request) -> Response:
        try:
            if server.api_key is not None and request.url.path not in _OPEN_PATHS:
                server.api_key.require(request.headers)
            return await answer(server, request)
        except (TitoError, HTTPException, ClientDisconnect):
            raise
        except Exception:  # noqa: BLE001 - raised further it would cost the client its connection, too
            _LOG.exception("a bug in titocli")
            return _in_shape(request, InternalError("the server failed"))

    return answered


def _in_shape(request: Request, error: TitoError) -> Response:
    """An error in the format of the path that was asked."""
    if _is_anthropics(request):
        return anthropic_error_response(error, f"req_{uuid4().hex}")
    return error_response(error)


def _is_anthropics(request: Request) -> bool:
    return "/v1/messages" in request.url.path


async def _on_tito_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, TitoError)  # noqa: S101 - registered for this class alone
    return _in_shape(request, error)


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class alone
    if error.status_code == _METHOD_NOT_ALLOWED:
        refused: TitoError = MethodNotAllowed(f"this path does not answer {request.method[:20]}")
    else:
        refused = UnknownPath("this server has no such path", hint="GET /openapi.json lists all paths")
    response = _in_shape(request, refused)
    response.headers.update(error.headers or {})
    return response


async def _on_disconnect(_: Request, __: Exception) -> Response:
    return Response(status_code=_CLIENT_GONE)  # nobody reads it


__all__ = ["ROUTES", "create_app"]
