"""Creating, listing, showing, aborting and deleting sessions."""

from __future__ import annotations

from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response

from titocli.errors import TurnAborted
from titocli.jsonvalue import JsonObject
from titocli.server.flights import cancel_all
from titocli.server.http import json_response, read_object
from titocli.server.registry import End, LiveSession, session_ended
from titocli.server.state import SessionServer
from titocli.session.limits import SessionLimits
from titocli.session.options import session_options
from titocli.session.session import Session
from titocli.wire.session_view import session_view


async def create(server: SessionServer, request: Request) -> Response:
    """``POST /sessions``: the body, if any, has the session's options."""
    server.drain.refuse()
    session = Session(
        server.renderer,
        server.policy,
        launch_kwargs=server.launch_kwargs,
        control_tokens=server.control_tokens,
        matcher=server.matcher,
        options=session_options(await read_object(request, server.max_body_bytes)),
        limits=_limits(server),
        replay=server.replay,
    )
    live = server.registry.add(session)
    base_url = str(request.url.replace(query=None)).rstrip("/") + f"/{live.id}"
    return json_response({"session_id": live.id, "base_url": base_url})


def _limits(server: SessionServer) -> SessionLimits:
    """The server's limits, within the engine's context."""
    context = server.engine.context_length
    lengths = [length for length in (server.limits.max_context_tokens, context) if length is not None]
    return replace(server.limits, max_context_tokens=min(lengths, default=None))


async def index(server: SessionServer, _: Request) -> Response:
    """``GET /sessions``: what lives, the oldest first."""
    server.registry.expire()
    return json_response({"sessions": [_entry(server, live) for live in server.registry]})


def _entry(server: SessionServer, live: LiveSession) -> JsonObject:
    return {
        "session_id": live.id,
        "created_at": live.created_at,
        "idle_seconds": round(server.registry.idle_seconds(live), 3),
        "turns": len(live.session.tree),
        "turns_under_way": len(live.flights),
        "stored_tokens": live.session.stored_tokens,
        "purpose": live.session.options.purpose.value,
        "metadata": live.session.options.metadata,
    }


async def show(server: SessionServer, request: Request) -> Response:
    """``GET /sessions/{id}``."""
    live = server.live(request)
    async with live.lock:
        return await server.off_loop(lambda: json_response(session_view(live.id, live.session)))


async def abort(server: SessionServer, request: Request) -> Response:
    """``POST /sessions/{id}/abort``: cancel the turns under way; the session stays."""
    live = server.live(request)
    reason = TurnAborted(
        "this turn was aborted while it was generated; nothing of it was kept",
        hint="send another request, or stop the agent",
        details={"reason": "aborted"},
    )
    aborted = await cancel_all(live.flights, reason)
    return json_response({"session_id": live.id, "aborted": aborted})


async def delete(server: SessionServer, request: Request) -> Response:
    """``DELETE /sessions/{id}``: the session ends, and so do its turns under way."""
    live = server.registry.delete(request.path_params["session_id"])
    await cancel_all(live.flights, session_ended(End.DELETED))
    return Response(status_code=204)


__all__ = ["abort", "create", "delete", "index", "show"]
