"""Malformed bodies: each is refused with a code in its wire's shape, changes nothing, and the server lives on."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from tests.generated_count import generated_count
from titocli.session.history import HistoryPolicy

from .conftest import ScriptedEngine, running, serve_family
from .malformed_bodies import (
    ANTHROPIC,
    ANTHROPIC_TURN,
    BROKEN,
    CHAT,
    COLLECTED,
    COUNT,
    CREATE,
    CREATED,
    DEEP,
    JUNK,
    MESSAGES,
    NESTED,
    ODD,
    OPENAI,
    ROUTES,
    SAMPLES,
    VALID,
    U,
    arrays,
    objects,
)


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    server = serve_family(ScriptedEngine(), "qwen3", HistoryPolicy.TREE)
    with running(server) as url, httpx.Client(base_url=url, timeout=60) as client:
        yield client


#: What is wrong with a body that asks for a turn: its messages, its tools, or another field.
PROMPT_CODES = ("invalid_messages", "invalid_tools", "unsupported_request")


@pytest.fixture(scope="module")
def session(http: httpx.Client) -> str:
    """A session with one turn."""
    made = http.post("/sessions", json={"metadata": {"kept": True}}).json()["session_id"]
    path = f"/sessions/{made}"
    assert http.post(f"{path}/{CHAT}", json={"messages": [U]}).status_code == 200
    return path


def state(http: httpx.Client, session: str) -> Any:
    """The session, and how many others there are."""
    return http.get(session).json(), len(http.get("/sessions").json()["sessions"])


def path_of(route: str, session: str) -> str:
    return f"{session}/{route}" if route else "/sessions"


def refused(http: httpx.Client, session: str, route: str, body: bytes, **headers: str) -> str:
    """The code with which a body is refused, once it is sure that nothing else happened."""
    before = state(http, session)
    kind = {"content-type": "application/json"}
    response = http.post(path_of(route, session), content=body, headers=kind | headers)
    assert 400 <= response.status_code < 500, (response.status_code, response.text[:300])
    assert len(response.content) < 4000
    assert state(http, session) == before
    assert http.get("/health").json()["status"] == "ok"
    return code_of(response)


def code_of(response: httpx.Response) -> str:
    error = response.json()["error"]
    if "/v1/messages" in response.url.path:
        assert response.json()["type"] == "error"
        assert error["type"] in ("invalid_request_error", "request_too_large", "not_found_error")
    else:
        assert error["type"] == "invalid_request_error"
    assert error["message"]
    assert error["code"]
    return str(error["code"])


def spelled(body: Any) -> bytes:
    return json.dumps(body).encode()


@pytest.mark.hazard(5)
@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("route", ROUTES)
def test_what_is_no_json_object_is_refused(http: httpx.Client, session: str, route: str, name: str) -> None:
    assert refused(http, session, route, BROKEN[name]) == "invalid_json"


@pytest.mark.hazard(5)
@pytest.mark.parametrize("name", OPENAI)
def test_a_chat_that_cannot_be_honoured_is_refused(http: httpx.Client, session: str, name: str) -> None:
    assert refused(http, session, CHAT, spelled(OPENAI[name])) in PROMPT_CODES


@pytest.mark.parametrize("name", OPENAI)
def test_a_stream_that_cannot_be_honoured_never_starts(http: httpx.Client, session: str, name: str) -> None:
    body = {"stream": True, **OPENAI[name]}
    if name == "stream options without stream":
        body["stream"] = False
    assert refused(http, session, CHAT, spelled(body)) in PROMPT_CODES


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("name", ANTHROPIC_TURN)
def test_a_message_that_cannot_be_honoured_is_refused(
    http: httpx.Client, session: str, name: str, streamed: bool
) -> None:
    body = {"model": "m", "max_tokens": 9, "stream": streamed, **ANTHROPIC_TURN[name]}
    assert refused(http, session, MESSAGES, spelled(body)) in PROMPT_CODES


@pytest.mark.parametrize("name", ANTHROPIC)
def test_what_cannot_be_a_prompt_is_not_counted(http: httpx.Client, session: str, name: str) -> None:
    assert refused(http, session, COUNT, spelled({"model": "m", **ANTHROPIC[name]})) in PROMPT_CODES


@pytest.mark.parametrize("name", CREATED)
def test_a_session_that_cannot_be_is_not_created(http: httpx.Client, session: str, name: str) -> None:
    assert refused(http, session, CREATE, spelled(CREATED[name])) == "unsupported_request"


@pytest.mark.parametrize("name", COLLECTED)
def test_samples_that_cannot_be_are_refused(http: httpx.Client, session: str, name: str) -> None:
    codes = ("invalid_sample_request", "unknown_name")
    assert refused(http, session, SAMPLES, spelled(COLLECTED[name])) in codes


@pytest.mark.case("d04")
@pytest.mark.parametrize("shape", [arrays, objects])
@pytest.mark.parametrize("depth", [500, 3000, DEEP])
@pytest.mark.parametrize(("route", "field"), [(r, f) for r, fields in NESTED.items() for f in fields])
def test_no_depth_of_a_field_breaks_the_server(
    http: httpx.Client, session: str, route: str, field: str, depth: int, shape: Any
) -> None:
    body = NESTED[route][field] % shape(depth)
    made = http.post("/sessions").json()["session_id"]
    own = f"/sessions/{made}"
    response = http.post(path_of(route, own), content=body.encode())
    assert response.status_code < 500, response.text[:300]
    assert depth < DEEP or response.status_code == 400
    if response.status_code >= 400:
        code_of(response)
        assert http.get(own).json()["records"] == []
    # What was taken can be looked at and continued.
    assert http.get(own).status_code == 200
    assert http.get(f"{own}/samples").status_code < 500
    assert http.get("/sessions").status_code == 200
    http.delete(own)
    if route == CREATE and response.status_code == 200:
        http.delete(f"/sessions/{response.json()['session_id']}")


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "", "application/json; charset=utf-16"])
@pytest.mark.parametrize("name", ODD)
def test_what_is_odd_and_right_is_answered_whatever_its_content_type(
    http: httpx.Client, name: str, kind: str
) -> None:
    own = f"/sessions/{http.post('/sessions').json()['session_id']}"
    response = http.post(f"{own}/{CHAT}", content=ODD[name], headers={"content-type": kind})
    assert response.status_code == 200, response.text
    reply = response.json()["choices"][0]["message"]
    asked = http.get(own).json()["records"][0]["request"]["messages"]
    again = http.post(f"{own}/{CHAT}", json={"messages": [*asked, reply, U]})
    assert again.status_code == 200, again.text
    assert [node["parent"] for node in http.get(own).json()["metadata"]["tree"]["nodes"]] == [None, 0]
    assert http.delete(own).status_code == 204


@pytest.mark.case("d10")
@pytest.mark.parametrize("route", ROUTES)
def test_a_body_over_the_limit_is_refused_in_its_wires_shape(route: str) -> None:
    server = replace(serve_family(ScriptedEngine(), "qwen3", HistoryPolicy.TREE), max_body_bytes=1000)
    with running(server) as url, httpx.Client(base_url=url, timeout=60) as client:
        made = f"/sessions/{client.post('/sessions').json()['session_id']}"
        fits = spelled({"messages": [U], "padding": "x" * 900})
        response = client.post(path_of(route, made), content=fits + b" " * 200)
        assert response.status_code == 413
        assert code_of(response) == "body_too_large"
        assert client.get(made).json()["records"] == []
        assert client.post(f"{made}/{CHAT}", content=fits).status_code == 200


def test_an_abort_reads_no_body(http: httpx.Client, session: str) -> None:
    before = state(http, session)
    for body in BROKEN.values():
        response = http.post(f"{session}/abort", content=body)
        assert (response.status_code, response.json()["aborted"]) == (200, 0)
    assert state(http, session) == before


def spoilt(body: Any, chance: random.Random) -> Any:
    """``body`` with junk in one or two places, at any depth."""
    body = copy.deepcopy(body)
    for _ in range(chance.randrange(1, 3)):
        at = body
        while True:
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            key = chance.choice(keys)
            if chance.random() < 0.4 or not isinstance(at[key], dict | list) or not at[key]:
                break
            at = at[key]
        at[key] = copy.deepcopy(chance.choice(JUNK))
    return body


@pytest.mark.parametrize("route", [CHAT, MESSAGES, COUNT, CREATE, SAMPLES])
def test_junk_anywhere_in_a_right_body_is_no_fault_of_the_server(
    http: httpx.Client, session: str, route: str
) -> None:
    chance = random.Random(route)
    before, answers = state(http, session)[0], set()
    for number in range(generated_count() // 10):
        body = spelled(spoilt(VALID[MESSAGES if route == COUNT else route], chance))
        own = session
        if route in (CHAT, MESSAGES):
            own = f"/sessions/{http.post('/sessions').json()['session_id']}"
        response = http.post(path_of(route, own), content=body)
        answers.add(response.status_code)
        assert response.status_code < 500, (number, body, response.text[:300])
        if response.status_code >= 400:
            code_of(response)
        if own != session:
            assert len(http.get(own).json()["records"]) == (response.status_code == 200), body
            http.delete(own)
        elif route == CREATE and response.status_code == 200:
            http.delete(f"/sessions/{response.json()['session_id']}")
    assert {200, 400} <= answers
    assert state(http, session)[0] == before
