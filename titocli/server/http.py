"""HTTP in and out: bounded bodies, JSON, errors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from hashlib import blake2b
from typing import TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from titocli.errors import (
    BodyTooLarge,
    IdempotencyConflict,
    InvalidApiKey,
    InvalidJson,
    ServerDraining,
    SessionError,
    TitoError,
)
from titocli.families.client_json import read_json
from titocli.families.large_json import read_large_json
from titocli.jsonvalue import JsonObject, JsonValue
from titocli.server.drain import RETRY_AFTER_SECONDS
from titocli.wire import anthropic_errors
from titocli.wire.openai_reply import error_body

Asked = TypeVar("Asked")

#: Bytes of one request body.  Agent histories reach megabytes.
MAX_BODY_BYTES = 256 * 1024 * 1024
#: Bytes from which on a body is hashed, and read, off the event loop by whoever does it.
LARGE_BODY_BYTES = 256 * 1024
#: Bytes of a body that is read piece by piece: read at once it would hold every thread for 10 ms or more.
_HUGE_BODY_BYTES = 8 * 1024 * 1024
#: Bytes of a body over the limit that are read and dropped before the connection is closed.
_DROPPED_BYTES = 64 * 1024 * 1024


async def read_object(request: Request, max_bytes: int = MAX_BODY_BYTES) -> JsonObject:
    """The request body as a JSON object; an empty body is ``{}``."""
    body = await read_body(request, max_bytes)
    if len(body) <= LARGE_BODY_BYTES:
        return understood(body, _as_it_is)
    return await asyncio.to_thread(understood, body, _as_it_is)


def _as_it_is(body: JsonObject) -> JsonObject:
    return body


async def read_body(request: Request, max_bytes: int = MAX_BODY_BYTES) -> bytearray:
    """The request body.

    Raises ``BodyTooLarge``; the rest of the body is then read and dropped, for a client that is still
    sending would see a broken connection and not the answer.
    """
    body, size = bytearray(), 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= max_bytes:
            body += chunk  # in place: joining 100 MB at the end would stop the event loop
        elif size > max_bytes + _DROPPED_BYTES:
            break
    if size > max_bytes:
        raise BodyTooLarge(
            f"the request body has more than {max_bytes} bytes",
            hint="send less, or raise the server's limit",
            details={"max_bytes": max_bytes},
        )
    return body


def understood(body: bytearray, understand: Callable[[JsonObject], Asked]) -> Asked:
    """What ``understand`` makes of a body as a JSON object; an empty one is ``{}``."""
    try:
        return understand(_parse_object(body))
    except RecursionError as error:
        raise InvalidJson("the request body is nested too deeply") from error


async def digest(body: bytearray, *context: bytes) -> bytes:
    """16 bytes that stand for a body and what goes with it; a large one is hashed off the event loop."""
    hashed = blake2b(b"\0".join((*context, b"")), digest_size=16)
    if len(body) <= LARGE_BODY_BYTES:
        hashed.update(body)
    else:
        await asyncio.to_thread(hashed.update, body)
    return hashed.digest()


def _parse_object(body: bytearray) -> JsonObject:
    if not body:
        return {}
    try:
        parsed = read_large_json(body) if len(body) > _HUGE_BODY_BYTES else read_json(body)
    except ValueError as error:
        raise InvalidJson(f"the request body is not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise InvalidJson("the request body must be a JSON object")
    return parsed


def json_response(body: JsonValue, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A compact UTF-8 JSON response; NaN and infinities become null."""
    return Response(
        msgspec.json.encode(body), status_code=status, headers=headers, media_type="application/json"
    )


def encoded(body: JsonValue) -> bytes:
    """Compact UTF-8 JSON; NaN and infinities become null."""
    return msgspec.json.encode(body)


def error_response(error: TitoError) -> Response:
    """An error as a response, in OpenAI's shape."""
    return json_response(error_body(error), status=error.http_status, headers=error_headers(error))


def anthropic_error_response(error: TitoError, request_id: str) -> Response:
    """An error as a response, in Anthropic's shape."""
    return json_response(
        anthropic_errors.error_body(error, request_id=request_id),
        status=anthropic_errors.error_status(error.http_status),
        headers={**error_headers(error), "request-id": request_id},
    )


def error_headers(error: TitoError) -> dict[str, str]:
    """What a client should know beside the body.

    The OpenAI and Anthropic clients retry 409 on their own; ``x-should-retry`` tells them that a session
    error will not heal.
    """
    if isinstance(error, SessionError | IdempotencyConflict):
        return {"x-should-retry": "false"}
    if isinstance(error, ServerDraining):
        return {"retry-after": str(RETRY_AFTER_SECONDS)}
    if isinstance(error, InvalidApiKey):
        return {"www-authenticate": "Bearer"}
    return {}


__all__ = [
    "LARGE_BODY_BYTES",
    "MAX_BODY_BYTES",
    "anthropic_error_response",
    "digest",
    "encoded",
    "error_headers",
    "error_response",
    "json_response",
    "read_body",
    "read_object",
    "understood",
]
