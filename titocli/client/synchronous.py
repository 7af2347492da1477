"""The client for ordinary code."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self

import httpx

from titocli.client import exchange
from titocli.client.arrays import SampleBatch
from titocli.errors import SessionDeleted, SessionNotFound
from titocli.jsonvalue import JsonObject, JsonValue
from titocli.wire.sample_format_names import SampleFormat


class Client:
    """A session server by its URL; close it, or use it in a ``with`` block.

    Every method raises the error class that the server answered with (``titocli.errors``),
    ``ServerUnreachable`` without an answer, ``ServerRefused`` for an answer that is none.
    """

    def __init__(
        self, url: str, *, api_key: str | None = None, timeout_seconds: float = exchange.TIMEOUT_SECONDS
    ) -> None:
        self.url = exchange.server_url(url)
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        # A session server is a neighbour, not behind the proxy of the environment.
        self._http = httpx.Client(headers=headers, timeout=timeout_seconds, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; safe to call twice."""
        self._http.close()

    def create_session(self, **options: JsonValue) -> ClientSession:
        """A new session; ``options`` are the fields of ``POST /sessions`` (``metadata``, ...)."""
        session_id, base_url = exchange.created(self.send("POST", f"{self.url}/sessions", json=options))
        return ClientSession(self, session_id=session_id, base_url=base_url)

    def session(self, url: str) -> ClientSession:
        """A session that exists, by its base URL; nothing is sent."""
        base_url = exchange.session_url(url)
        return ClientSession(self, session_id=base_url.rpartition("/")[2], base_url=base_url)

    def send(
        self,
        method: str,
        url: str,
        *,
        json: Mapping[str, JsonValue] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """One request; raises ``ServerUnreachable`` alone."""
        try:
            return self._http.request(method, url, json=json, headers=headers)
        except httpx.TransportError as error:
            raise exchange.unreachable(self.url, error) from error


class ClientSession:
    """One session.  As a ``with`` block it deletes itself at the end, whatever happened inside."""

    def __init__(self, client: Client, *, session_id: str, base_url: str) -> None:
        self._client = client
        self.session_id = session_id
        self.base_url = base_url

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.delete()

    @property
    def openai_base_url(self) -> str:
        """The ``base_url`` of an OpenAI client."""
        return f"{self.base_url}/v1"

    def show(self) -> JsonObject:
        """The session's records and metadata: a debugging view that repeats every prompt."""
        return exchange.json_object(self._client.send("GET", self.base_url))

    def samples(
        self, *, max_seq_len: int | None = None, metadata: Mapping[str, JsonValue] | None = None
    ) -> SampleBatch:
        """The samples so far; ``metadata`` is merged into each (its ``reward`` becomes theirs)."""
        response = self._samples(SampleFormat.SAFETENSORS, max_seq_len, metadata)
        return exchange.sample_batch(response)

    def encoded_samples(
        self,
        wanted: SampleFormat,
        *,
        max_seq_len: int | None = None,
        metadata: Mapping[str, JsonValue] | None = None,
    ) -> bytes:
        """The samples as the server encodes them in a format."""
        return exchange.encoded_samples(self._samples(wanted, max_seq_len, metadata), wanted)

    def delete(self) -> None:
        """End the session; one that is gone already is no error."""
        response = self._client.send("DELETE", self.base_url)
        try:
            exchange.require_success(response)
        except (SessionDeleted, SessionNotFound):
            return

    def _samples(
        self, wanted: SampleFormat, max_seq_len: int | None, metadata: Mapping[str, JsonValue] | None
    ) -> httpx.Response:
        return self._client.send(
            "POST",
            f"{self.base_url}/samples",
            json=exchange.samples_body(max_seq_len, metadata),
            headers=exchange.accept(wanted),
        )


__all__ = ["Client", "ClientSession"]
