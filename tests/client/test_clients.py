"""The clients against a real server."""

from __future__ import annotations

import asyncio
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests.server.conftest import ScriptedEngine, running, serve_family
from titocli.client import AsyncClient, Client, ClientSession
from titocli.client.exchange import session_url
from titocli.errors import (
    InvalidOption,
    InvalidSampleRequest,
    ServerRefused,
    ServerUnreachable,
    SessionDeleted,
    SessionNotFound,
)
from titocli.session.history import HistoryPolicy
from titocli.wire.sample_format_names import SampleFormat

U = {"role": "user", "content": "hi"}


@pytest.fixture
def url() -> Iterator[str]:
    with running(serve_family(ScriptedEngine(), "qwen3", HistoryPolicy.TREE)) as each:
        yield each


def chat(session: ClientSession) -> None:
    reply = httpx.post(f"{session.openai_base_url}/chat/completions", json={"messages": [U]})
    assert reply.status_code == 200


def test_a_session_is_created_used_sampled_and_deleted(url: str) -> None:
    with Client(url) as client:
        with client.create_session(metadata={"task": 7}) as session:
            assert session.base_url == f"{url}/sessions/{session.session_id}"
            assert session.samples().empty_reason == "no_records"
            chat(session)
            batch = session.samples(metadata={"reward": 0.25})
            cut = session.samples(max_seq_len=int(batch[0].tokens.size) - 1)
            records: Any = session.show()["records"]
            lines = session.encoded_samples(SampleFormat.JSONL)
        with pytest.raises(SessionDeleted):
            session.samples()

    (sample,) = batch
    assert sample.reward == 0.25
    assert sample.loss_mask is not None
    assert int(sample.loss_mask.sum()) == sample.response_length == 5
    assert bytes(sample.tokens[-5:-1].tolist()) == b"fine"
    assert (cut[0].status.value, cut[0].response_length) == ("truncated", 4)
    assert len(records) == 1
    assert lines.count(b"\n") == 1


def test_the_asynchronous_client_does_the_same(url: str) -> None:
    async def go() -> Any:
        async with AsyncClient(url) as client, await client.create_session() as session:
            reply = await client.send(
                "POST", f"{session.openai_base_url}/chat/completions", json={"messages": [U]}
            )
            assert reply.status_code == 200
            assert len((await session.show())["records"]) == 1  # type: ignore[arg-type] # JSON
            return await session.samples(metadata={"reward": 1}), session.base_url

    batch, base_url = asyncio.run(go())
    assert batch[0].reward == 1.0
    assert httpx.get(base_url).status_code == 410


def test_deleting_twice_is_no_error(url: str) -> None:
    with Client(url) as client:
        session = client.create_session()
        session.delete()
        session.delete()
        client.session(f"{url}/sessions/never").delete()
        assert httpx.get(session.base_url).status_code == 410


@pytest.mark.regression("R37")
def test_a_session_deletes_itself_also_after_an_error(url: str) -> None:
    with Client(url) as client:
        session = client.create_session()
        with pytest.raises(RuntimeError), session:
            raise RuntimeError
        with pytest.raises(SessionDeleted):
            session.show()


def test_errors_of_the_server_come_as_their_own_classes(url: str) -> None:
    with Client(url) as client:
        with pytest.raises(SessionNotFound) as caught:
            client.session(f"{url}/sessions/nope").samples()
        assert caught.value.hint
        assert caught.value.details["status"] == 404
        session = client.create_session()
        with pytest.raises(InvalidSampleRequest, match="max_seq_len"):
            session.samples(max_seq_len=0)


def test_a_server_that_is_not_there_is_unreachable() -> None:
    with Client("http://127.0.0.1:9") as client, pytest.raises(ServerUnreachable, match=r"127\.0\.0\.1:9"):
        client.create_session()
    with pytest.raises(ServerUnreachable):
        asyncio.run(_create_at("http://127.0.0.1:9"))


async def _create_at(url: str) -> None:
    async with AsyncClient(url) as client:
        await client.create_session()


@contextmanager
def answering(status: int, body: bytes, media_type: str) -> Iterator[str]:
    """A server that is no session server."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(status)
            self.send_header("content-type", media_type)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("status", "body", "media_type"),
    [
        (200, b"<html>", "text/html"),
        (200, b"{}", "application/json"),
        (200, b"\xff", "application/json"),
        (502, b"Bad Gateway", "text/plain"),
        (400, b'{"error": "text"}', "application/json"),
        (400, b'{"error": {"message": "m", "code": "of_another_program"}}', "application/json"),
    ],
)
def test_what_is_no_session_server_is_said_to_be_none(status: int, body: bytes, media_type: str) -> None:
    with answering(status, body, media_type) as url, Client(url) as client:
        with pytest.raises(ServerRefused) as caught:
            client.create_session()
        assert caught.value.details["status"] == status
        with pytest.raises(ServerRefused):
            client.session(f"{url}/sessions/x").samples()


@pytest.mark.parametrize("url", ["", "localhost:1", "ftp://h/sessions/x", "http:///sessions/x"])
def test_a_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InvalidOption, match="not an HTTP URL"):
        Client(url)


@pytest.mark.parametrize("url", ["http://h", "http://h/sessions", "http://h/sessions/", "http://h/x/1"])
def test_a_url_of_no_session_is_refused(url: str) -> None:
    with pytest.raises(InvalidOption, match="not the URL of a session"):
        session_url(url)


def test_a_session_may_be_named_by_its_openai_base_url() -> None:
    assert session_url("http://h:1/p/sessions/abc/v1/") == "http://h:1/p/sessions/abc"
