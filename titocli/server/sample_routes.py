"""The training samples of a session, over HTTP."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from titocli.server.http import json_response
from titocli.server.state import SessionServer
from titocli.wire.session_view import samples_view


async def samples(server: SessionServer, request: Request) -> Response:
    """``GET`` or ``POST /sessions/{id}/samples``."""
    live = server.live(request)
    async with live.lock:
        return await server.off_loop(lambda: json_response(samples_view(live.id, live.session)))


__all__ = ["samples"]
