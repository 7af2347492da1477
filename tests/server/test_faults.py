"""A bug of the server: told in the shape of the format, without what the exception says, and nothing is kept."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from titocli.errors import InvalidJson
from titocli.server.http import understood

from .conftest import ScriptedEngine
from .events import U

BUG = ValueError("SECRET")


def ask(client: httpx.Client, session: str, path: str, stream: bool) -> httpx.Response:
    body = {"model": "m", "max_tokens": 9, "messages": [U], "stream": stream}
    return client.post(f"/sessions/{session}/v1/{path}", json=body)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("path", "kind"), [("chat/completions", "server_error"), ("messages", "api_error")])
def test_before_the_first_piece_it_is_a_status(
    client: httpx.Client, session: str, engine: ScriptedEngine, path: str, kind: str, stream: bool
) -> None:
    engine.error = BUG
    failed = ask(client, session, path, stream)

    assert (failed.status_code, failed.headers["content-type"]) == (500, "application/json")
    assert failed.json()["error"]["type"] == kind
    assert failed.json()["error"]["message"] == "the server failed"
    assert client.get(f"/sessions/{session}").json()["records"] == []


@pytest.mark.parametrize(("path", "kind"), [("chat/completions", "server_error"), ("messages", "api_error")])
def test_in_the_middle_of_a_stream_it_is_the_last_event(
    client: httpx.Client, session: str, engine: ScriptedEngine, path: str, kind: str
) -> None:
    engine.break_after, engine.broken_by = 1, BUG
    body = {"model": "m", "max_tokens": 9, "messages": [U], "stream": True}
    told = list[dict[str, Any]]()
    with client.stream("POST", f"/sessions/{session}/v1/{path}", json=body) as response:
        lines = (line for line in response.iter_lines() if line.startswith("data: "))
        with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):
            told.extend(json.loads(line.removeprefix("data: ")) for line in lines)

    assert told[-1]["error"]["type"] == kind
    assert "SECRET" not in json.dumps(told)
    assert client.get(f"/sessions/{session}").json()["records"] == []
    engine.break_after = None
    assert ask(client, session, path, stream=True).status_code == 200


def test_a_request_that_nests_too_deeply_for_its_reader_is_no_fault() -> None:
    def understand(_: Any) -> Any:
        raise RecursionError

    with pytest.raises(InvalidJson, match="nested too deeply"):
        understood(bytearray(b"{}"), understand)
