"""The server's API key."""

from __future__ import annotations

import hmac

from starlette.datastructures import Headers

from titocli.errors import InvalidApiKey

_BEARER = "bearer "


class ApiKey:
    """One key for the whole server; clients send it as ``Authorization: Bearer`` or as ``x-api-key``.

    Where a request has both, one that is right suffices: SDKs fill in the other from their environment.
    The key goes to no log and to no engine.
    """

    def __init__(self, key: str) -> None:
        self._key = key.encode()

    def __repr__(self) -> str:
        return "ApiKey(...)"

    def require(self, headers: Headers) -> None:
        """Raise ``InvalidApiKey`` unless the headers have the key.

        A wrong key takes the same time whatever it has in common with the right one.
        """
        right = [hmac.compare_digest(given.encode(), self._key) for given in _given(headers)]
        if not any(right):
            raise InvalidApiKey(
                "this server wants its API key, and the request has " + ("another" if right else "none"),
                hint="send it as Authorization: Bearer KEY or as x-api-key: KEY",
            )


def _given(headers: Headers) -> list[str]:
    authorization = headers.get("authorization", "")
    bearer = authorization[len(_BEARER) :].strip() if authorization.lower().startswith(_BEARER) else ""
    return [key for key in (bearer, headers.get("x-api-key", "").strip()) if key]


__all__ = ["ApiKey"]
