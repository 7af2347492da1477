"""How the server is doing."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from titocli import __version__
from titocli.server.http import json_response
from titocli.server.state import SessionServer


async def health(server: SessionServer, _: Request) -> Response:
    """``GET /health``: never waits for anything."""
    return json_response(
        {
            "status": "ok",
            "version": __version__,
            "family": server.renderer.family.name,
            "history": server.policy.value,
            "message_matcher": "strict",
            "append_roles": list(server.renderer.family.append_roles),
            "engine": {"kind": server.engine.name, "model": server.engine.model},
            "sessions": len(server.registry),
        }
    )


__all__ = ["health"]
