"""What goes wrong on the way to SGLang, as titocli's errors."""

from __future__ import annotations

from typing import NoReturn

import httpx
import msgspec

from titocli.errors import EngineBrokeProtocol, EngineError, EngineRefused, EngineTimeout, EngineUnreachable
from titocli.jsonvalue import JsonValue

_MESSAGE_CHARS = 500
_REPEATED_INPUT = "'input':"
_OK, _FIRST_CLIENT_ERROR, _FIRST_SERVER_ERROR = 200, 400, 500
_UNAUTHORISED = 401


def transport_error(error: httpx.TransportError, url: str) -> EngineError:
    """The error for a request that got no response."""
    details: dict[str, JsonValue] = {"url": url, "cause": type(error).__name__}
    if isinstance(error, httpx.TimeoutException) and not isinstance(error, httpx.ConnectTimeout):
        return EngineTimeout(
            f"the engine at {url} did not answer in time",
            hint="raise --timeout, or ask for fewer tokens",
            details=details,
        )
    return EngineUnreachable(
        f"the engine at {url} cannot be reached or closed the connection",
        hint="check that the engine runs and that the URL is right",
        details=details,
    )


def raise_for_status(response: httpx.Response, url: str) -> None:
    """Raise for everything but a 200.

    A 4xx keeps its status (the request was at fault), a 5xx becomes 502.
    """
    status = response.status_code
    if status == _OK:
        return
    details: dict[str, JsonValue] = {
        "url": url,
        "status": status,
        "engine_message": _engine_message(response),
    }
    if status < _FIRST_CLIENT_ERROR:
        raise EngineBrokeProtocol(f"the engine answered with status {status}", details=details)
    refused = EngineRefused(
        f"the engine refused the request with status {status}", hint=_hint(status), details=details
    )
    if status < _FIRST_SERVER_ERROR:
        refused.http_status = status
    raise refused


def refused_in_stream(error: JsonValue, url: str) -> EngineRefused:
    """The error that an engine tells in a stream which it had begun with a 200."""
    told = error.get("code") if isinstance(error, dict) else None
    details: dict[str, JsonValue] = {"url": url, "status": told if type(told) is int else None}
    details["engine_message"] = _sentence({"error": error})
    return EngineRefused(
        "the engine broke the generation off",
        hint="details.engine_message is what the engine said",
        details=details,
    )


def _hint(status: int) -> str:
    if status == _UNAUTHORISED:
        return "the engine wants an API key: set it where the session server starts"
    return "details.engine_message is what the engine said"


def _engine_message(response: httpx.Response) -> str:
    """The engine's sentence, cut where a validation error repeats its input, which may be a prompt."""
    try:
        parsed: JsonValue = msgspec.json.decode(response.content)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        parsed = response.text
    return _sentence(parsed)


def _sentence(parsed: JsonValue) -> str:
    for key in ("error", "message"):
        parsed = parsed.get(key, parsed) if isinstance(parsed, dict) else parsed
    sentence, _, _ = str(parsed).partition(_REPEATED_INPUT)
    return sentence[:_MESSAGE_CHARS]


def broken(message: str, **details: JsonValue) -> NoReturn:
    """Raise ``EngineBrokeProtocol``."""
    raise EngineBrokeProtocol(
        message,
        hint="titocli needs SGLang 0.5.13 or newer, without a proxy that changes its answers",
        details=details,
    )


__all__ = ["broken", "raise_for_status", "refused_in_stream", "transport_error"]
