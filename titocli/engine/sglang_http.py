"""The connections to one SGLang server."""

from __future__ import annotations

import asyncio
import time

import httpx
import msgspec

from titocli.engine.sglang_errors import raise_for_status, transport_error
from titocli.errors import EngineBrokeProtocol
from titocli.jsonvalue import JsonObject, JsonValue
from titocli.session.generation import GenerateRequest

_MAX_CONNECTIONS = 1024
_CONNECT_SECONDS = 10.0
# SGLang closes an idle connection after 5 s; a request on a connection that is just being closed would fail.
_KEEP_ALIVE_SECONDS = 3.0
_ABORT_SECONDS = 5.0

_FIRST_PAUSE_SECONDS = 0.1


class SglangHttp:
    """Requests to an SGLang server; raises the classes of ``EngineError``."""

    def __init__(
        self, url: str, *, timeout_seconds: float, api_key: str | None, connect_budget_seconds: float
    ) -> None:
        self._url = url
        self._connect_budget_seconds = connect_budget_seconds
        self._client = httpx.AsyncClient(
            base_url=self._url,
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
            timeout=httpx.Timeout(timeout_seconds, connect=min(_CONNECT_SECONDS, timeout_seconds)),
            limits=httpx.Limits(
                max_connections=_MAX_CONNECTIONS,
                max_keepalive_connections=None,
                keepalive_expiry=_KEEP_ALIVE_SECONDS,
            ),
            # An engine is a neighbour, not behind the proxy of the environment.
            trust_env=False,
        )

    async def aclose(self) -> None:
        """Close the connections; safe to call twice."""
        await self._client.aclose()

    async def model_info(self) -> JsonObject:
        """What ``/model_info`` says; raises ``EngineBrokeProtocol`` when that is no object."""
        response = await self._send("GET", "/model_info")
        if response.status_code == httpx.codes.NOT_FOUND:
            response = await self._send("GET", "/get_model_info")  # its name before, and a router's
        raise_for_status(response, self._url)
        try:
            info: JsonValue = msgspec.json.decode(response.content)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            info = None
        if not isinstance(info, dict):
            raise EngineBrokeProtocol(
                "the engine's /model_info is not a JSON object",
                hint="check that the URL is that of an SGLang server",
                details={"url": self._url},
            )
        return info

    async def max_model_len(self) -> int | None:
        """What ``/v1/models`` tells of the context; None where it does not."""
        try:
            response = await self._client.get("/v1/models")
            listed = msgspec.json.decode(response.content)["data"][0]["max_model_len"]
        except (httpx.HTTPError, msgspec.MsgspecError, UnicodeDecodeError, LookupError, TypeError):
            return None
        return listed if type(listed) is int else None

    async def _send(self, method: str, path: str) -> httpx.Response:
        try:
            return await self._client.request(method, path)
        except httpx.TransportError as error:
            raise transport_error(error, self._url) from error

    async def post_chat(self, request: GenerateRequest, content: bytes) -> httpx.Response:
        """The response to a chat completion, its body not read yet.

        Sent again, within the budget, only while no connection is made: then the engine cannot have seen it.
        """
        # The routing key keeps a session on one replica of a router, where its prefix is cached.
        headers = {"Content-Type": "application/json", "X-SMG-Routing-Key": request.session_id}
        started, pause = time.monotonic(), _FIRST_PAUSE_SECONDS
        while True:
            asked = self._client.build_request(
                "POST", "/v1/chat/completions", content=content, headers=headers
            )
            try:
                return await self._client.send(asked, stream=True)
            except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
                elapsed = time.monotonic() - started
                if elapsed + pause > self._connect_budget_seconds:
                    unreachable = transport_error(error, self._url)
                    unreachable.details = {**unreachable.details, "elapsed_seconds": round(elapsed, 3)}
                    raise unreachable from error
            except httpx.TransportError as error:
                raise transport_error(error, self._url) from error
            await asyncio.sleep(pause)
            pause *= 2

    async def abort(self, request_id: str) -> None:
        """Tell the engine to stop; a task of its own, for a second cancellation must not stop it."""
        await asyncio.shield(asyncio.ensure_future(self._post_abort(request_id)))

    async def _post_abort(self, request_id: str) -> None:
        """Best effort: the engine may be gone, or done already."""
        try:
            await self._client.post("/abort_request", json={"rid": request_id}, timeout=_ABORT_SECONDS)
        except httpx.HTTPError:
            return


__all__ = ["SglangHttp"]
