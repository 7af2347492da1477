"""Errors in Anthropic's shape."""

from __future__ import annotations

from titocli.errors import TitoError
from titocli.jsonvalue import JsonObject

#: Anthropic's own status where a server cannot take a request now; its clients know it as overloaded.
OVERLOADED = 529
_UNAVAILABLE = 503
_FIRST_SERVER_STATUS = 500
_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    410: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    OVERLOADED: "overloaded_error",
}


def error_status(http_status: int) -> int:
    """The status on Anthropic's routes of an error with ``http_status`` on the others."""
    return OVERLOADED if http_status == _UNAVAILABLE else http_status


def error_type(http_status: int) -> str:
    """Anthropic's name for errors of a status."""
    fallback = "invalid_request_error" if http_status < _FIRST_SERVER_STATUS else "api_error"
    return _TYPES.get(error_status(http_status), fallback)


def error_body(error: TitoError, *, request_id: str) -> JsonObject:
    """An error with Anthropic's type, and titocli's stable code, hint and details beside it."""
    return {
        "type": "error",
        "error": {
            "type": error_type(error.http_status),
            "message": error.message if error.hint is None else f"{error.message} ({error.hint})",
            "code": error.code,
            "hint": error.hint,
            "details": error.details,
        },
        "request_id": request_id,
    }


def plain_error_body(http_status: int, message: str, *, request_id: str) -> JsonObject:
    """An error that is none of titocli's own, such as a wrong method or a bug."""
    return {
        "type": "error",
        "error": {"type": error_type(http_status), "message": message},
        "request_id": request_id,
    }


__all__ = ["OVERLOADED", "error_body", "error_status", "error_type", "plain_error_body"]
