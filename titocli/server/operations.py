"""How the server is doing, and what it answers."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from titocli import __version__
from titocli.families.family import Role
from titocli.server.drain import RETRY_AFTER_SECONDS
from titocli.server.http import json_response
from titocli.server.openapi import openapi_document
from titocli.server.state import SessionServer


async def health(server: SessionServer, _: Request) -> Response:
    """``GET /health``: never waits for anything."""
    family = server.renderer.family
    return json_response(
        {
            "status": "ok",
            "draining": server.drain.draining,
            "instance_id": server.instance_id,
            "version": __version__,
            "family": family.name,
            "history": server.policy.value,
            "message_matcher": server.matcher.name,
            "append_roles": list(family.append_roles),
            "anthropic_intermediate_system_supported": Role.SYSTEM in family.append_roles,
            "engine": {"kind": server.engine.name, "model": server.engine.model},
            "sessions": len(server.registry),
            "turns_under_way": server.registry.turns_under_way,
        }
    )


async def ready(server: SessionServer, _: Request) -> Response:
    """``GET /ready``: 200 while new turns are taken, else 503."""
    if server.drain.draining:
        headers = {"retry-after": str(RETRY_AFTER_SECONDS)}
        return json_response({"status": "draining"}, status=503, headers=headers)
    return json_response({"status": "ready"})


async def openapi(_server: SessionServer, _: Request) -> Response:
    """``GET /openapi.json``."""
    return json_response(openapi_document())


__all__ = ["health", "openapi", "ready"]
