"""Creating, showing and deleting sessions."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from titocli.server.http import json_response, read_object
from titocli.server.state import SessionServer
from titocli.session.session import Session
from titocli.wire.session_view import session_view


async def create(server: SessionServer, request: Request) -> Response:
    """``POST /sessions``."""
    await read_object(request)
    session = Session(
        server.renderer,
        server.policy,
        launch_kwargs=server.launch_kwargs,
        control_tokens=server.control_tokens,
    )
    live = server.registry.add(session)
    base_url = str(request.url.replace(query=None)).rstrip("/") + f"/{live.id}"
    return json_response({"session_id": live.id, "base_url": base_url})


async def show(server: SessionServer, request: Request) -> Response:
    """``GET /sessions/{id}``."""
    live = server.live(request)
    async with live.lock:
        return await server.off_loop(lambda: json_response(session_view(live.id, live.session)))


async def delete(server: SessionServer, request: Request) -> Response:
    """``DELETE /sessions/{id}``."""
    server.registry.delete(request.path_params["session_id"])
    return Response(status_code=204)


__all__ = ["create", "delete", "show"]
