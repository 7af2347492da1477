"""Listing, aborting, deleting, expiring, repeating: the operations of sessions over real sockets."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest

import titocli.tokens.tokenizer
from tests.session.conftest import renderer_of
from titocli.engine.replay import ReplayEngine
from titocli.errors import EngineUnreachable
from titocli.server.app import ROUTES
from titocli.server.auth import ApiKey
from titocli.server.openapi import operations
from titocli.server.registry import SessionRegistry
from titocli.server.replies import KEPT_REPLIES
from titocli.server.state import SessionServer
from titocli.tokens.tokenizer import Tokenizer

from .conftest import ScriptedEngine, running
from .events import U, events_of, opened

FINE = {"role": "assistant", "content": "fine"}


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def server(engine: ScriptedEngine, clock: Clock) -> SessionServer:
    registry = SessionRegistry(max_sessions=3, ttl_seconds=60.0, clock=clock)
    return SessionServer(renderer=renderer_of("qwen3"), engine=engine, registry=registry)


@pytest.fixture
def http(server: SessionServer) -> Iterator[httpx.Client]:
    with running(server) as url, httpx.Client(base_url=url, timeout=30) as client:
        yield client


def created(http: httpx.Client, body: Any = None) -> str:
    return str(http.post("/sessions", json=body or {}).json()["session_id"])


def chat(http: httpx.Client, session: str, headers: Any = None, **more: Any) -> httpx.Response:
    body = {"messages": [U], **more}
    return http.post(f"/sessions/{session}/v1/chat/completions", json=body, headers=headers)


def until(condition: Callable[[], Any], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.fixture
def late(http: httpx.Client, engine: ScriptedEngine) -> Iterator[Callable[..., Future[httpx.Response]]]:
    """Sends a chat that the engine holds back, and returns once the engine has it."""
    engine.release = threading.Event()
    with ThreadPoolExecutor(8) as pool:

        def send(session: str, headers: Any = None, **more: Any) -> Future[httpx.Response]:
            before = len(engine.requests)
            sent = pool.submit(chat, http, session, headers, **more)
            until(lambda: len(engine.requests) > before)
            return sent

        yield send
        engine.release.set()


def records(http: httpx.Client, session: str) -> list[Any]:
    return list(http.get(f"/sessions/{session}").json()["records"])


def test_sessions_are_listed_with_what_they_were_created_with(http: httpx.Client) -> None:
    first = created(http, {"metadata": {"group": 7}})
    second = created(http, {"evaluation": True})
    chat(http, second)
    listed = http.get("/sessions").json()["sessions"]

    assert [entry["session_id"] for entry in listed] == [first, second]
    assert listed[0]["metadata"] == {"group": 7}
    assert (listed[0]["turns"], listed[1]["turns"]) == (0, 1)
    assert (listed[0]["purpose"], listed[1]["purpose"]) == ("open", "evaluation")
    assert listed[1]["stored_tokens"] > 5


@pytest.mark.regression("R18")
@pytest.mark.parametrize(
    "body",
    [{"temperature": "hot"}, {"metadata": []}, {"evaluation": 1}, {"top_p": 2}, {"unheard_of": 1}, [1]],
)
def test_a_session_with_options_that_cannot_be_is_not_created(http: httpx.Client, body: Any) -> None:
    refused = http.post("/sessions", json=body)

    assert refused.status_code == 400
    assert refused.json()["error"]["code"] in {"unsupported_request", "invalid_json"}
    assert http.get("/sessions").json()["sessions"] == []


@pytest.mark.regression("R18")
def test_a_sessions_sampling_goes_to_the_engine(http: httpx.Client, engine: ScriptedEngine) -> None:
    session = created(http, {"temperature": 0.7})
    assert chat(http, session).status_code == 200
    refused = chat(http, session, temperature=1.0)

    assert engine.requests[0].options["temperature"] == 0.7
    assert refused.status_code == 400
    assert "does not match the training session temperature=0.7" in refused.json()["error"]["message"]


@pytest.mark.regression("R2")
def test_an_abort_cancels_the_engine_tells_the_client_and_keeps_nothing(
    http: httpx.Client, engine: ScriptedEngine, late: Callable[..., Future[httpx.Response]]
) -> None:
    session = created(http)
    sent = late(session)
    aborted = http.post(f"/sessions/{session}/abort").json()
    told = sent.result()

    assert aborted == {"session_id": session, "aborted": 1}
    assert engine.cancelled == [engine.requests[0].request_id]
    assert (told.status_code, told.json()["error"]["code"]) == (409, "turn_aborted")
    assert told.headers["x-should-retry"] == "false"
    assert records(http, session) == []
    assert engine.release is not None
    engine.release.set()
    assert chat(http, session).status_code == 200


def test_an_abort_of_a_stream_is_its_last_event(http: httpx.Client, engine: ScriptedEngine) -> None:
    session = created(http)
    engine.hold = threading.Event()
    with opened(http, session, [U]) as response:
        lines = (line for line in response.iter_lines() if line)
        next(lines)
        aborted = httpx.post(f"{http.base_url}/sessions/{session}/abort").json()
        events = events_of("\n".join(lines))

    assert aborted["aborted"] == 1
    assert events[-1]["error"]["code"] == "turn_aborted"
    assert len(engine.cancelled) == 1
    assert records(http, session) == []


def test_an_abort_without_a_turn_under_way_does_nothing(http: httpx.Client) -> None:
    assert http.post(f"/sessions/{created(http)}/abort").json()["aborted"] == 0
    assert http.post("/sessions/nope/abort").status_code == 404


@pytest.mark.regression("R13")
@pytest.mark.case("d08")
def test_a_deletion_cancels_the_turn_under_way(
    http: httpx.Client, engine: ScriptedEngine, late: Callable[..., Future[httpx.Response]]
) -> None:
    session = created(http)
    sent = late(session)
    assert http.delete(f"/sessions/{session}").status_code == 204
    told = sent.result()

    assert len(engine.cancelled) == 1
    assert (told.status_code, told.json()["error"]["code"]) == (410, "session_deleted")
    assert http.get(f"/sessions/{session}").status_code == 410
    assert http.get("/sessions").json()["sessions"] == []


@pytest.mark.hazard(19)
@pytest.mark.case("d11")
def test_an_idle_session_expires_and_says_so(http: httpx.Client, clock: Clock) -> None:
    idle, used = created(http), created(http)
    clock.now += 40
    assert chat(http, used).status_code == 200
    clock.now += 40
    gone = chat(http, idle)

    assert (gone.status_code, gone.json()["error"]["details"]["reason"]) == (410, "expired")
    assert chat(http, used).status_code == 200
    assert [entry["session_id"] for entry in http.get("/sessions").json()["sessions"]] == [used]


@pytest.mark.case("d11")
def test_a_session_with_a_turn_under_way_never_expires(
    http: httpx.Client, clock: Clock, engine: ScriptedEngine, late: Callable[..., Future[httpx.Response]]
) -> None:
    session = created(http)
    sent = late(session)
    clock.now += 1000
    assert [entry["session_id"] for entry in http.get("/sessions").json()["sessions"]] == [session]
    assert engine.release is not None
    engine.release.set()

    assert sent.result().status_code == 200
    clock.now += 59
    assert len(records(http, session)) == 1


@pytest.mark.case("d11")
def test_a_full_server_makes_room_by_expiring_and_refuses_otherwise(http: httpx.Client, clock: Clock) -> None:
    first = [created(http) for _ in range(3)]
    refused = http.post("/sessions")
    clock.now += 61

    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "session_limit")
    assert created(http) not in first
    assert len(http.get("/sessions").json()["sessions"]) == 1


@pytest.mark.regression("R2")
@pytest.mark.parametrize("header", ["Idempotency-Key", "X-Miles-Generation-Id"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_repeated_key_gets_the_same_bytes_and_no_new_turn(
    http: httpx.Client, engine: ScriptedEngine, header: str, stream: bool
) -> None:
    session = created(http)
    first, second = (chat(http, session, {header: "k1"}, stream=stream) for _ in range(2))

    assert first.status_code == second.status_code == 200
    assert first.content == second.content
    assert first.headers["content-type"] == second.headers["content-type"]
    assert len(engine.requests) == len(records(http, session)) == 1


def test_a_key_with_another_body_is_refused(http: httpx.Client) -> None:
    session = created(http)
    chat(http, session, {"Idempotency-Key": "k1"})
    refused = chat(http, session, {"Idempotency-Key": "k1"}, temperature=0.5)

    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "idempotency_conflict")
    assert refused.headers["x-should-retry"] == "false"
    assert len(records(http, session)) == 1
    assert chat(http, created(http), {"Idempotency-Key": "k1"}, temperature=0.5).status_code == 200


def test_a_key_is_of_one_path(http: httpx.Client) -> None:
    """A body that both formats understand is two requests."""
    session = created(http)
    body = {"model": "m", "max_tokens": 9, "messages": [U]}
    statuses = [
        http.post(f"/sessions/{session}/v1/{path}", json=body, headers={"Idempotency-Key": "k1"}).status_code
        for path in ("chat/completions", "messages")
    ]

    assert statuses == [200, 409]


def test_a_key_that_is_used_again_meanwhile_waits_for_the_first_reply(
    http: httpx.Client, engine: ScriptedEngine, late: Callable[..., Future[httpx.Response]]
) -> None:
    session = created(http)
    sent = late(session, {"Idempotency-Key": "k1"})
    with ThreadPoolExecutor(1) as pool:
        again = pool.submit(chat, http, session, {"Idempotency-Key": "k1"})
        time.sleep(0.1)
        assert engine.release is not None
        engine.release.set()

    assert sent.result().content == again.result().content
    assert len(engine.requests) == 1


def test_a_keyed_turn_outlives_its_client_and_answers_it_later(
    http: httpx.Client, engine: ScriptedEngine
) -> None:
    session = created(http)
    engine.release = threading.Event()
    with httpx.Client(base_url=http.base_url, timeout=0.2) as leaving, pytest.raises(httpx.ReadTimeout):
        chat(leaving, session, {"Idempotency-Key": "k1"})
    engine.release.set()
    again = chat(http, session, {"Idempotency-Key": "k1"})

    assert again.status_code == 200
    assert engine.cancelled == []
    assert len(engine.requests) == len(records(http, session)) == 1


def test_a_failure_is_not_kept_under_its_key(http: httpx.Client, engine: ScriptedEngine) -> None:
    session = created(http)
    engine.error = EngineUnreachable("gone")
    failed = chat(http, session, {"Idempotency-Key": "k1"})
    engine.error = None

    assert failed.status_code == 502
    assert chat(http, session, {"Idempotency-Key": "k1"}).status_code == 200


def test_old_keys_are_forgotten(http: httpx.Client, server: SessionServer) -> None:
    session = created(http)
    for number in range(KEPT_REPLIES + 3):
        assert chat(http, session, {"Idempotency-Key": f"k{number}"}).status_code == 200
    before = len(records(http, session))

    chat(http, session, {"Idempotency-Key": f"k{KEPT_REPLIES + 2}"})
    assert len(records(http, session)) == before
    chat(http, session, {"Idempotency-Key": "k0"})
    nodes = http.get(f"/sessions/{session}").json()["metadata"]["tree"]["nodes"]
    assert len(nodes) == KEPT_REPLIES + 4
    assert chat(http, session, {"Idempotency-Key": "k" * 256}).status_code == 400


@pytest.mark.case("d13")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"x-api-key": "K"}, 200),
        ({"authorization": "Bearer K"}, 200),
        ({"authorization": "bearer K"}, 200),
        ({"authorization": "Bearer wrong", "x-api-key": "K"}, 200),
        ({"authorization": "Bearer K", "x-api-key": "wrong"}, 200),
        ({"authorization": "Bearer wrong"}, 401),
        ({"authorization": "Basic K"}, 401),
        ({"authorization": "Bearer"}, 401),
        ({"x-api-key": ""}, 401),
        ({"x-api-key": "Kk"}, 401),
        ({}, 401),
    ],
)
def test_a_key_is_wanted_everywhere_but_for_health(
    engine: ScriptedEngine, headers: dict[str, str], status: int
) -> None:
    server = SessionServer(renderer=renderer_of("qwen3"), engine=engine, api_key=ApiKey("K"))
    with running(server) as url, httpx.Client(base_url=url, headers=headers) as http:
        answers = [http.get("/sessions"), http.get("/openapi.json")]
        made = http.post("/sessions")
        anthropic = http.post("/sessions/x/v1/messages", json={})
        watched = [http.get("/health").status_code, http.get("/ready").status_code]

    assert {answer.status_code for answer in (*answers, made)} == {status}
    assert watched == [200, 200]
    if status == 401:
        assert made.json()["error"]["code"] == "invalid_api_key"
        assert made.headers["www-authenticate"] == "Bearer"
        assert anthropic.status_code == 401
        assert anthropic.json()["error"]["type"] == "authentication_error"
        assert "K" not in made.text.replace("KEY", "")


def test_a_draining_server_finishes_and_takes_nothing_new(
    http: httpx.Client,
    server: SessionServer,
    engine: ScriptedEngine,
    late: Callable[..., Future[httpx.Response]],
) -> None:
    session = created(http)
    sent = late(session)
    server.drain.begin()
    refused = [http.post("/sessions"), chat(http, session)]
    ready, health = http.get("/ready"), http.get("/health")
    assert engine.release is not None
    engine.release.set()

    assert sent.result().status_code == 200
    assert [(answer.status_code, answer.json()["error"]["code"]) for answer in refused] == [
        (503, "server_draining")
    ] * 2
    assert {answer.headers["retry-after"] for answer in (*refused, ready)} == {"5"}
    assert ready.status_code == 503
    assert health.json()["draining"] is True
    assert len(records(http, session)) == 1
    assert http.get(f"/sessions/{session}/samples").status_code == 200


def test_the_description_has_every_route_and_no_other(http: httpx.Client) -> None:
    described = http.get("/openapi.json").json()
    served = {(path.replace(":str", ""), method) for path, methods, _ in ROUTES for method in methods}

    assert set(operations()) == served
    assert {
        (path, method.upper()) for path, methods in described["paths"].items() for method in methods
    } == served
    assert described["openapi"] == "3.1.0"
    for path, methods in described["paths"].items():
        for operation in methods.values():
            names = [p["name"] for p in operation["parameters"] if p["in"] == "path"]
            assert names == (["session_id"] if "{session_id}" in path else [])


@pytest.mark.regression("R26")
def test_the_models_of_a_session_are_told_here(http: httpx.Client, engine: ScriptedEngine) -> None:
    session = created(http)
    (model,) = http.get(f"/sessions/{session}/v1/models").json()["data"]
    unknown = http.get("/sessions/nope/v1/models")

    assert (model["id"], model["object"]) == ("scripted-model", "model")
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "session_not_found")
    assert engine.requests == []


@pytest.mark.regression("R26")
@pytest.mark.case("d14")
@pytest.mark.parametrize(
    "path",
    [
        "/sessions/{id}/v1/completions",
        "/sessions/{id}/generate",
        "/sessions/{id}/abort_request",
        "/sessions/{id}//127.0.0.1:9/x",
        "/sessions/{id}/http://127.0.0.1:9/",
        "/sessions/../../etc/passwd",
        "/sessions/..%2f..%2fx",
        "/sessions/%2e%2e",
        "/sessions/%00",
        "/sessions/" + "x" * 5000,
        "/sessions//v1/models",
    ],
)
def test_there_is_no_way_through_to_the_engine(http: httpx.Client, engine: ScriptedEngine, path: str) -> None:
    session = created(http)
    for method in ("GET", "POST", "PUT", "PATCH"):
        answer = http.request(method, path.format(id=session), json={})
        assert answer.status_code in (404, 405)
        assert answer.json()["error"]["code"] in {"unknown_path", "method_not_allowed", "session_not_found"}
    assert engine.requests == []


@pytest.mark.case("d10")
def test_a_body_over_the_limit_is_refused_and_the_connection_lives(
    server: SessionServer, engine: ScriptedEngine
) -> None:
    small = replace(server, max_body_bytes=1000)
    with running(small) as url, httpx.Client(base_url=url, timeout=30) as http:
        session = created(http)
        large = {"messages": [{"role": "user", "content": "x" * 5_000_000}]}
        refused = [
            http.post(f"/sessions/{session}{path}", json=large)
            for path in ("/v1/chat/completions", "/v1/messages")
        ]
        again = chat(http, session)

    assert [answer.status_code for answer in refused] == [413, 413]
    assert refused[0].json()["error"]["code"] == "body_too_large"
    assert refused[1].json()["error"]["type"] == "request_too_large"
    assert again.status_code == 200
    assert len(engine.requests) == 1


def test_a_prompt_beyond_the_engines_context_is_refused_before_it_runs(
    engine: ScriptedEngine,
) -> None:
    engine.context_length = 100
    with (
        running(SessionServer(renderer=renderer_of("qwen3"), engine=engine)) as url,
        httpx.Client(base_url=url) as http,
    ):
        session = created(http)
        refused = chat(http, session, max_tokens=5, max_completion_tokens=90)
        fits = chat(http, session, max_tokens=90, max_completion_tokens=5)

    assert refused.status_code == 400
    assert "90" in refused.json()["error"]["message"]
    assert "100" in refused.json()["error"]["message"]
    assert fits.status_code == 200
    assert engine.requests[0].options["max_tokens"] == 5


def test_worker_threads_are_warmed_one_by_one(server: SessionServer) -> None:
    import asyncio

    names: set[str] = set()
    tokenizer = server.renderer.tokenizer
    encode = tokenizer.encode

    def noted(text: str) -> list[int]:
        names.add(threading.current_thread().name)
        return encode(text)

    tokenizer.encode = noted  # type: ignore[method-assign] # watches which threads encode
    asyncio.run(server.warm())
    assert len(names) == 2


def test_after_warming_no_other_thread_makes_a_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    known = renderer_of("qwen3")
    fresh = Tokenizer(known.tokenizer.definition, source="fresh")
    engine = ReplayEngine(known.family, fresh, [])
    asyncio.run(SessionServer(renderer=known, engine=engine).warm())
    monkeypatch.setattr(titocli.tokens.tokenizer, "tokenizers", None)
    with ThreadPoolExecutor(1) as another:
        assert another.submit(lambda: engine.vocab_size).result() == known.tokenizer.vocab_size
