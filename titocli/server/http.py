"""HTTP in and out: bounded bodies, JSON, errors."""

from __future__ import annotations

import asyncio

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from titocli.errors import InvalidJson, SessionError, TitoError, UnsupportedRequest
from titocli.jsonvalue import JsonObject, JsonValue
from titocli.wire.openai_reply import error_body

#: Bytes of one request body.  Agent histories reach megabytes.
MAX_BODY_BYTES = 256 * 1024 * 1024
#: Bytes from which on a body is parsed off the event loop.
_LARGE_BODY_BYTES = 256 * 1024


class BodyTooLarge(UnsupportedRequest):
    """A request body over the limit."""

    code = "body_too_large"
    http_status = 413


async def read_object(request: Request) -> JsonObject:
    """The request body as a JSON object; an empty body is ``{}``."""
    body = bytearray()
    async for chunk in request.stream():
        body.extend(chunk)
        if len(body) > MAX_BODY_BYTES:
            raise BodyTooLarge(f"the request body has more than {MAX_BODY_BYTES} bytes")
    if len(body) > _LARGE_BODY_BYTES:
        return await asyncio.to_thread(_parse_object, bytes(body))
    return _parse_object(bytes(body)) if body else {}


def _parse_object(body: bytes) -> JsonObject:
    try:
        parsed: JsonValue = msgspec.json.decode(body)
    except RecursionError as error:
        raise InvalidJson("the request body is nested too deeply") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidJson(f"the request body is not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise InvalidJson("the request body must be a JSON object")
    return parsed


def json_response(body: JsonValue, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A compact UTF-8 JSON response; NaN and infinities become null."""
    return Response(
        msgspec.json.encode(body), status_code=status, headers=headers, media_type="application/json"
    )


def error_response(error: TitoError) -> Response:
    """An error as a response.

    The OpenAI client retries 409 on its own; ``x-should-retry`` tells it that a session error will not heal.
    """
    headers = {"x-should-retry": "false"} if isinstance(error, SessionError) else None
    return json_response(error_body(error), status=error.http_status, headers=headers)


__all__ = ["MAX_BODY_BYTES", "error_response", "json_response", "read_object"]
