"""A turn's reply to one client, whole or in events; made once for an idempotency key."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response

from titocli.errors import InternalError, TitoError
from titocli.server.disconnect import unless_disconnected
from titocli.server.http import digest
from titocli.server.registry import LiveSession
from titocli.server.replies import Reply
from titocli.server.sse import event_stream

#: Headers that name a request which is answered once; the second is miles' name for it.
KEY_HEADERS = ("idempotency-key", "x-miles-generation-id")


async def keyed_reply(
    live: LiveSession, request: Request, body: bytearray, make: Callable[[], AsyncIterator[bytes]]
) -> Reply:
    """The reply that ``make`` makes, or the one that was made under the request's key before.

    Raises ``IdempotencyConflict`` for a key that another path or body used.
    """
    key = next((value for name in KEY_HEADERS if (value := request.headers.get(name))), None)
    if key is None:
        return Reply(make())
    asked = await digest(body, request.url.path.encode())
    reply = live.replies.get(key, asked)
    if reply is None:
        reply = Reply(make(), digest=asked, kept=True)
        live.replies.put(key, reply)
    return reply


async def whole_response(request: Request, reply: Reply) -> Response:
    """The reply in one piece; raises what broke it off."""
    return Response(await unless_disconnected(request, reply.whole()), media_type="application/json")


async def streamed_response(
    request: Request,
    reply: Reply,
    *,
    keep_alive: bytes,
    seconds: float,
    patience: float | None,
    error_event: Callable[[TitoError], bytes],
) -> Response:
    """The reply in events, with ``keep_alive`` wherever none comes for so many seconds.

    Raises what breaks the reply off before its first event, or within ``patience`` seconds where that comes
    first, so that it keeps its own status; later an error is the last event, a bug of the server too.
    """
    await unless_disconnected(request, reply.begun(patience))
    response = event_stream(_told(reply, error_event), keep_alive=keep_alive, seconds=seconds)
    # Also when the client goes away before the first event is asked for.
    response.background = BackgroundTask(reply.leave)
    return response


async def _told(reply: Reply, error_event: Callable[[TitoError], bytes]) -> AsyncGenerator[bytes, None]:
    try:
        async with aclosing(reply.pieces()) as pieces:
            async for piece in pieces:
                yield piece
    except TitoError as error:
        yield error_event(error)
    except Exception:
        yield error_event(InternalError("the server failed"))
        raise  # into the log


__all__ = ["KEY_HEADERS", "keyed_reply", "streamed_response", "whole_response"]
