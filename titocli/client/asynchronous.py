"""The client for asyncio; the same methods as the other one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import Self

import httpx

from titocli.client import exchange
from titocli.client.arrays import SampleBatch
from titocli.errors import SessionDeleted, SessionNotFound
from titocli.jsonvalue import JsonObject, JsonValue
from titocli.wire.sample_format_names import SampleFormat


class AsyncClient:
    """A session server by its URL; close it, or use it in ``async with``.  Errors as with ``Client``."""

    def __init__(
        self, url: str, *, api_key: str | None = None, timeout_seconds: float = exchange.TIMEOUT_SECONDS
    ) -> None:
        self.url = exchange.server_url(url)
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._http = httpx.AsyncClient(headers=headers, timeout=timeout_seconds, trust_env=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections; safe to call twice."""
        await self._http.aclose()

    async def create_session(self, **options: JsonValue) -> AsyncSession:
        """A new session; ``options`` are the fields of ``POST /sessions`` (``metadata``, ...)."""
        response = await self.send("POST", f"{self.url}/sessions", json=options)
        session_id, base_url = exchange.created(response)
        return AsyncSession(self, session_id=session_id, base_url=base_url)

    async def send(
        self,
        method: str,
        url: str,
        *,
        json: Mapping[str, JsonValue] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """One request; raises ``ServerUnreachable`` alone."""
        try:
            return await self._http.request(method, url, json=json, headers=headers)
        except httpx.TransportError as error:
            raise exchange.unreachable(self.url, error) from error


class AsyncSession:
    """One session.  As an ``async with`` block it deletes itself at the end."""

    def __init__(self, client: AsyncClient, *, session_id: str, base_url: str) -> None:
        self._client = client
        self.session_id = session_id
        self.base_url = base_url

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.delete()

    @property
    def openai_base_url(self) -> str:
        """The ``base_url`` of an OpenAI client."""
        return f"{self.base_url}/v1"

    async def show(self) -> JsonObject:
        """The session's records and metadata."""
        return exchange.json_object(await self._client.send("GET", self.base_url))

    async def samples(
        self, *, max_seq_len: int | None = None, metadata: Mapping[str, JsonValue] | None = None
    ) -> SampleBatch:
        """The samples so far; decoded in a thread."""
        response = await self._client.send(
            "POST",
            f"{self.base_url}/samples",
            json=exchange.samples_body(max_seq_len, metadata),
            headers=exchange.accept(SampleFormat.SAFETENSORS),
        )
        return await asyncio.to_thread(exchange.sample_batch, response)

    async def delete(self) -> None:
        """End the session; one that is gone already is no error."""
        response = await self._client.send("DELETE", self.base_url)
        try:
            exchange.require_success(response)
        except (SessionDeleted, SessionNotFound):
            return


__all__ = ["AsyncClient", "AsyncSession"]
