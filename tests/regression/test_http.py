"""Regression cases of the HTTP side, with the SGLang adapter and an engine that answers as it is told."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from tests.engine_sglang.loopback import Answer, Loopback, loopback
from tests.engine_sglang.recorded import recorded
from tests.pauses import worst_pause
from tests.server.conftest import ScriptedEngine, running
from tests.session.conftest import renderer_of
from titocli.engine import sglang
from titocli.engine.sglang import SglangEngine
from titocli.errors import EngineUnreachable
from titocli.server import chat, messages, operations
from titocli.server import http as http_module
from titocli.server.serve import bind, serve
from titocli.server.state import SessionServer
from titocli.session.session import Session

U1 = {"role": "user", "content": "What is 1+2?"}
CHAT = "/v1/chat/completions"
INFO = recorded("model_info").response


def reply(asked: Any, **changed: Any) -> Answer:
    """What SGLang says to a whole completion: three letters and the stop token, in the byte-level tokenizer."""
    ids = [*b"fin", 258]
    meta = {
        "output_token_logprobs": [[-0.5, token, None] for token in ids],
        "completion_tokens": len(ids),
        "prompt_tokens": len(asked["input_ids"]),
        **changed.pop("meta", {}),
    }
    message = {"role": "assistant", "content": "fin", **changed.pop("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "meta_info": meta, **changed}
    return Answer({"id": asked["rid"], "model": "tiny", "choices": [choice]})


@dataclass
class Setup:
    """A session server before an engine on loopback."""

    http: httpx.Client
    engine: Loopback
    session: str = field(default="")

    def answer(self, make: Any) -> None:
        self.engine.answers[CHAT] = Answer(choose=make)

    def chat(self, messages: Any = (U1,), **more: Any) -> httpx.Response:
        headers = more.pop("headers", None)
        body = {"messages": list(messages), **more}
        return self.http.post(f"/sessions/{self.session}/v1/chat/completions", json=body, headers=headers)

    def loop_thread(self) -> int:
        """The thread of the server's event loop, which answers a request for its health."""
        with pytest.MonkeyPatch.context() as patch:
            threads = noted_threads(patch, operations, "json_response")
            self.http.get("/health")
        (ident,) = threads
        return ident

    def records(self) -> list[Any]:
        return list(self.http.get(f"/sessions/{self.session}").json()["records"])


@pytest.fixture
def setup() -> Iterator[Setup]:
    answers = {"/model_info": Answer(INFO), CHAT: Answer(choose=reply), "/abort_request": Answer()}
    with loopback(answers) as engine:
        adapter = SglangEngine(engine.url, vocab_size=512, connect_budget_seconds=0.3)
        server = SessionServer(renderer=renderer_of("qwen3"), engine=adapter)
        with running(server) as url, httpx.Client(base_url=url, timeout=60) as http:
            made = Setup(http, engine)
            made.session = http.post("/sessions").json()["session_id"]
            yield made


@pytest.mark.regression("R10")
@pytest.mark.hazard(14)
@pytest.mark.case("d12")
@pytest.mark.parametrize("stream", [False, True])
def test_nothing_of_the_engines_headers_is_passed_on(setup: Setup, stream: bool) -> None:
    def lying(asked: Any) -> Answer:
        answer = reply(asked)
        answer.headers = {"Server": "other", "Date": "x", "Content-Encoding": "identity", "X-Secret": "y"}
        return answer

    setup.answer(lying)
    answered = setup.chat(stream=stream)
    names = [name.lower() for name, _ in answered.headers.multi_items()]

    assert answered.status_code == 200
    assert (names.count("server"), names.count("date")) == (1, 1)
    assert answered.headers["server"] == "uvicorn"
    assert not {"content-encoding", "x-secret"} & set(names)
    if not stream:
        assert int(answered.headers["content-length"]) == len(answered.content)


@pytest.mark.regression("R11")
@pytest.mark.parametrize("stream", [False, True])
def test_the_routing_key_is_the_session_and_goes_once(setup: Setup, stream: bool) -> None:
    setup.chat(stream=stream, headers={"x-smg-routing-key": "mine", "Authorization": "Bearer client"})
    (sent, *_) = setup.engine.to(CHAT)
    keys = [value for name, value in sent.header_items if name.lower() == "x-smg-routing-key"]

    assert keys == [setup.session]
    assert "Authorization" not in sent.headers


def failures() -> list[Any]:
    def no_log_probs(asked: Any) -> Answer:
        answer = reply(asked)
        del answer.body["choices"][0]["meta_info"]["output_token_logprobs"]
        return answer

    return [
        pytest.param(lambda asked: reply(asked, message={"content": None}), "content", id="content null"),
        pytest.param(lambda _: Answer({"choices": [{"message": None}]}), "meta_info", id="message null"),
        pytest.param(no_log_probs, "output_token_logprobs", id="no log-probs"),
        pytest.param(
            lambda asked: reply(asked, meta={"completion_tokens": 3}), "3 completion tokens", id="3"
        ),
        pytest.param(lambda _: Answer({"choices": []}), "no choices", id="no choices"),
        pytest.param(lambda _: Answer(b"<html>"), "not JSON", id="not JSON"),
        pytest.param(lambda _: Answer(b"[]"), "not an object", id="not an object"),
    ]


@pytest.mark.regression("R28")
@pytest.mark.hazard(5)
@pytest.mark.parametrize(("make", "said"), failures())
def test_a_reply_that_cannot_be_trusted_is_a_bad_gateway_and_no_turn(
    setup: Setup, make: Any, said: str
) -> None:
    setup.answer(make)
    answered = setup.chat()

    assert (answered.status_code, answered.json()["error"]["code"]) == (502, "engine_broke_protocol")
    assert said in answered.json()["error"]["message"]
    assert setup.records() == []


@pytest.mark.regression("R28")
def test_a_body_that_is_no_json_is_a_bad_request(setup: Setup) -> None:
    answered = setup.http.post(f"/sessions/{setup.session}/v1/chat/completions", content=b"{bad")

    assert (answered.status_code, answered.json()["error"]["code"]) == (400, "invalid_json")
    assert setup.engine.to(CHAT) == []


@pytest.mark.regression("R28")
@pytest.mark.case("d15")
def test_an_engine_that_is_down_is_told_and_the_next_turn_works(setup: Setup) -> None:
    setup.engine.close()
    down = setup.chat()
    setup.engine.open()

    assert (down.status_code, down.json()["error"]["code"]) == (502, "engine_unreachable")
    assert down.json()["error"]["details"]["elapsed_seconds"] < 1
    assert setup.records() == []
    assert setup.chat().status_code == 200


@pytest.mark.regression("R5")
@pytest.mark.parametrize("stream", [False, True])
def test_a_generation_that_the_engine_aborted_is_no_turn(setup: Setup, stream: bool) -> None:
    setup.answer(lambda asked: reply(asked, finish_reason="abort"))
    aborted = setup.chat(stream=stream)
    setup.answer(reply)

    assert (aborted.status_code, aborted.json()["error"]["code"]) == (503, "engine_aborted")
    assert setup.records() == []
    assert setup.chat().status_code == 200


@pytest.mark.regression("R28")
def test_an_engine_5xx_during_a_retry_loses_nothing(setup: Setup) -> None:
    answer = setup.chat().json()["choices"][0]["message"]
    setup.chat([U1, answer, {"role": "user", "content": "more"}])
    setup.answer(lambda _: Answer({"message": "boom"}, status=500))
    failed = setup.chat([U1, answer, {"role": "user", "content": "other"}])

    assert (failed.status_code, failed.json()["error"]["code"]) == (502, "engine_refused")
    assert len(setup.records()) == 2


@pytest.mark.hazard(15)
@pytest.mark.parametrize("status", [400, 500])
def test_an_engine_error_repeats_no_prompt(setup: Setup, status: int) -> None:
    secret = "SECRET " * 1000
    said = {"message": f"1 validation error: {{'input': '{secret}'}}"}
    setup.answer(lambda _: Answer(said, status=status))
    answered = setup.chat([{"role": "user", "content": secret}])

    assert answered.status_code in (400, 502)
    assert "SECRET" not in answered.text
    assert len(answered.content) < 2000


@pytest.mark.regression("R13")
def test_a_session_that_ended_is_told_apart_from_one_that_never_was(setup: Setup) -> None:
    assert setup.http.delete(f"/sessions/{setup.session}").status_code == 204
    gone = setup.chat()

    assert (gone.status_code, gone.json()["error"]["details"]["reason"]) == (410, "deleted")
    assert setup.http.delete(f"/sessions/{setup.session}").status_code == 410
    assert setup.http.delete("/sessions/never").status_code == 404
    assert setup.engine.to(CHAT) == []


@pytest.mark.case("d16")
@pytest.mark.regression("R36")
@pytest.mark.parametrize("stream", [False, True])
def test_replay_data_of_the_engine_is_not_sent_on_and_not_read_on_the_event_loop(
    setup: Setup, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = noted_threads(monkeypatch, sglang, "read_reply")
    asked = {"rid": "r", "input_ids": []}
    large = reply(asked, meta={"routed_experts": "QUJD" * 10_000_000, "prompt_tokens": None}).encoded()
    setup.answer(lambda _: Answer(large))
    answered = setup.chat(stream=stream)

    assert answered.status_code == 200
    assert len(answered.content) < 2000
    assert threads.keys().isdisjoint({setup.loop_thread()})
    assert len(threads) == 1


@pytest.mark.regression("R12")
def test_large_bodies_are_parsed_and_planned_off_the_event_loop(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsing = noted_threads(monkeypatch, http_module, "_parse_object")
    planning = noted_threads(monkeypatch, Session, "plan")
    assert setup.chat([{"role": "user", "content": "x" * 300_000}]).status_code == 200
    on_loop = setup.loop_thread()

    assert parsing.keys().isdisjoint({on_loop})
    assert planning.keys().isdisjoint({on_loop})
    assert (len(parsing), len(planning)) == (1, 1)


@pytest.mark.regression("R12")
@pytest.mark.parametrize(("size", "on_loop"), [(1_000, True), (100_000, False), (300_000, False)])
@pytest.mark.parametrize(
    ("module", "name", "path"),
    [(chat, "chat_request", "chat/completions"), (messages, "messages_request", "messages")],
)
def test_only_small_requests_are_understood_on_the_event_loop(
    setup: Setup, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, path: str, size: int, on_loop: bool
) -> None:
    threads = noted_threads(monkeypatch, module, name)
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x" * size}]}
    assert setup.http.post(f"/sessions/{setup.session}/v1/{path}", json=body).status_code == 200

    assert len(threads) == 1
    assert (setup.loop_thread() in threads) == on_loop


@pytest.mark.regression("R12")
def test_huge_bodies_are_read_in_pieces_and_hashed_off_the_event_loop(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_module, "_HUGE_BODY_BYTES", 400_000)
    in_pieces = noted_threads(monkeypatch, http_module, "read_large_json")
    whole = noted_threads(monkeypatch, http_module, "read_json")
    hashing = set[int]()

    class Noted:
        def __init__(self, *_: Any, **__: Any) -> None: ...

        def update(self, _: bytes) -> None:
            hashing.add(threading.get_ident())

        def digest(self) -> bytes:
            return b"d"

    monkeypatch.setattr(http_module, "blake2b", Noted)
    on_loop = setup.loop_thread()

    assert keyed(setup, "k1", "x" * 500_000).status_code == 200
    assert (len(in_pieces), len(whole)) == (1, 0)
    assert on_loop not in hashing
    assert keyed(setup, "k2", "x" * 5_000).status_code == 200
    assert (len(in_pieces), len(whole)) == (1, 1)
    assert on_loop in hashing


@pytest.mark.regression("R12")
def test_threads_at_work_let_the_event_loop_wait_a_millisecond() -> None:
    before, seen = sys.getswitchinterval(), list[float]()

    class Noting(ScriptedEngine):
        async def start(self) -> None:
            seen.append(sys.getswitchinterval())
            raise EngineUnreachable("gone")

    server = SessionServer(renderer=renderer_of("qwen3"), engine=Noting())
    with bind("127.0.0.1", 0) as listener, pytest.raises(EngineUnreachable):
        serve(server, listener, on_ready=lambda: None)

    assert seen == [pytest.approx(0.001)]
    assert sys.getswitchinterval() == before


def keyed(setup: Setup, key: str, content: str) -> httpx.Response:
    body = {"messages": [{"role": "user", "content": content}]}
    return setup.http.post(
        f"/sessions/{setup.session}/v1/chat/completions", json=body, headers={"Idempotency-Key": key}
    )


@pytest.mark.regression("R12")
def test_other_threads_run_while_a_long_text_is_encoded() -> None:
    tokenizer = renderer_of("qwen3").tokenizer
    text = "hello world " * 60_000

    assert min(worst_pause(tokenizer.encode, text) for _ in range(4)) < 0.5


def noted_threads(monkeypatch: pytest.MonkeyPatch, where: Any, name: str) -> dict[int, str]:
    """The threads in which a function runs from now on."""
    called, threads = getattr(where, name), dict[int, str]()

    def noted(*args: Any, **kwargs: Any) -> Any:
        threads[threading.get_ident()] = name
        return called(*args, **kwargs)

    monkeypatch.setattr(where, name, noted)
    return threads
