"""The SGLang adapter against a loopback HTTP server: what it sends, and what every failure becomes."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import pytest

from tests.engine_sglang.loopback import Answer, Loopback, loopback
from tests.engine_sglang.recorded import recorded
from titocli.engine.sglang import SglangEngine
from titocli.errors import (
    EngineBrokeProtocol,
    EngineRefused,
    EngineTimeout,
    EngineUnreachable,
    TokenOutOfVocabulary,
)
from titocli.session.generation import Completion, GenerateRequest
from titocli.tokens.ids import token_ids

Result = TypeVar("Result")

CHAT = "/v1/chat/completions"
INFO = recorded("model_info").response
REPLY = recorded("chat_return_token_ids_meta").response
PROMPT = REPLY["choices"][0]["prompt_token_ids"]
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}


def request(**changed: Any) -> GenerateRequest:
    standard: dict[str, Any] = {
        "request_id": "r1",
        "session_id": "s1",
        "prompt_ids": token_ids(PROMPT),
        "generation_prompt": "",
        "messages": [{"role": "user", "content": "Hello"}],
    }
    return GenerateRequest(**{**standard, **changed})


def answers(**changed: Answer) -> dict[str, Answer]:
    return {"/model_info": Answer(INFO), CHAT: Answer(REPLY), "/abort_request": Answer(), **changed}


def run(server: Loopback | str, use: Callable[[SglangEngine], Awaitable[Result]], **options: Any) -> Result:
    """What ``use`` makes of a started engine."""

    async def main() -> Result:
        url = server if isinstance(server, str) else server.url
        engine = SglangEngine(url, **{"vocab_size": 448, **options})
        try:
            await engine.start()
            return await use(engine)
        finally:
            await engine.aclose()
            await engine.aclose()

    return asyncio.run(main())


def generate(server: Loopback, asked: GenerateRequest | None = None, **options: Any) -> Completion:
    return run(server, lambda engine: engine.generate(asked or request()), **options)


def test_what_is_sent_is_ids_with_everything_that_brings_ids_back() -> None:
    with loopback(answers()) as server:
        completion = generate(server, request(tools=[TOOL], template_kwargs={"enable_thinking": False}))
    assert completion.ids.tolist() == REPLY["choices"][0]["response_token_ids"]
    (sent,) = server.to(CHAT)
    assert sent.method == "POST"
    assert sent.headers["X-SMG-Routing-Key"] == "s1"
    assert sent.body == {
        "model": "tiny-qwen3",
        "messages": [{"role": "user", "content": "Hello"}],
        "input_ids": PROMPT,
        "rid": "r1",
        "chat_template_kwargs": {"enable_thinking": False},
        "logprobs": True,
        "return_meta_info": True,
        "no_stop_trim": False,
        "tools": [TOOL],
    }


def test_without_tools_none_are_sent() -> None:
    with loopback(answers()) as server:
        generate(server)
    assert "tools" not in server.to(CHAT)[0].body


def test_options_pass_but_never_over_what_titocli_owns() -> None:
    owned = {"input_ids": [1], "messages": [], "rid": "x", "logprobs": False, "return_meta_info": False}
    never = {"stream": True, "stream_options": {}, "n": 2, "no_stop_trim": True, "model": "other"}
    passed = {"temperature": 0.5, "max_tokens": 8, "regex": "a+", "seed": 3, "top_logprobs": 2}
    with loopback(answers()) as server:
        generate(server, request(options=MappingProxyType({**owned, **never, **passed})))
    body = server.to(CHAT)[0].body
    assert passed.items() <= body.items()
    assert not {"stream", "stream_options", "n"} & body.keys()
    assert body["input_ids"] == PROMPT
    assert body["messages"] == [{"role": "user", "content": "Hello"}]
    assert (body["rid"], body["model"]) == ("r1", "tiny-qwen3")
    assert (body["logprobs"], body["return_meta_info"], body["no_stop_trim"]) == (True, True, False)


def test_read_only_mappings_and_any_text_arrive_as_json() -> None:
    content = "héllo \u2028 \N{PILE OF POO} \x00"
    messages = (MappingProxyType({"role": "user", "content": content}),)
    with loopback(answers()) as server:
        generate(server, request(messages=messages, template_kwargs=MappingProxyType({"a": (1, None)})))
    assert server.to(CHAT)[0].body["messages"] == [{"role": "user", "content": content}]
    assert server.to(CHAT)[0].body["chat_template_kwargs"] == {"a": [1, None]}


def test_the_api_key_goes_with_every_request() -> None:
    with loopback(answers()) as server:
        generate(server, api_key="secret")
    assert [asked.headers["Authorization"] for asked in server.asked] == ["Bearer secret"] * 3


def test_a_url_with_a_slash_or_v1_is_the_same_server() -> None:
    with loopback(answers()) as server:
        for suffix in ("/", "/v1", "/v1/"):
            run(server.url + suffix, lambda engine: engine.generate(request()))
    assert len(server.to(CHAT)) == 3


def test_start_learns_the_name_of_the_model() -> None:
    async def names(engine: SglangEngine) -> tuple[str, str]:
        return engine.name, engine.model

    with loopback(answers()) as server:
        assert run(server, names) == ("sglang", "tiny-qwen3")


def test_start_asks_an_older_path_when_model_info_is_unknown() -> None:
    with loopback({"/get_model_info": Answer({"model_path": "m"})}) as server:

        async def model(engine: SglangEngine) -> str:
            return engine.model

        assert run(server, model) == "m"


@pytest.mark.parametrize(
    ("config", "size"), [({"vocab_size": 300}, 300), ({"text_config": {"vocab_size": 301}}, 301), ({}, 448)]
)
def test_the_vocabulary_is_that_of_the_models_config_before_the_tokenizers(
    tmp_path: Path, config: dict[str, Any], size: int
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))

    async def vocab_size(engine: SglangEngine) -> int:
        return engine.vocab_size

    with loopback({"/model_info": Answer({**INFO, "model_path": str(tmp_path)})}) as server:
        assert run(server, vocab_size) == size


def test_without_any_vocabulary_size_start_refuses() -> None:
    with loopback(answers()) as server, pytest.raises(EngineBrokeProtocol, match="vocabulary size"):
        generate(server, vocab_size=None)


@pytest.mark.parametrize("body", [b"hello", b"[]"])
def test_a_model_info_that_is_no_object_is_refused(body: bytes) -> None:
    with (
        loopback({"/model_info": Answer(body)}) as server,
        pytest.raises(EngineBrokeProtocol, match="model_info"),
    ):
        generate(server)


@pytest.mark.parametrize(("ids", "index"), [([1, 448], 1), ([-1, 5], 0), ([5, 6, 2**31 - 1], 2)])
def test_an_id_outside_the_vocabulary_is_never_sent(ids: list[int], index: int) -> None:
    with loopback(answers()) as server:
        with pytest.raises(TokenOutOfVocabulary) as caught:
            generate(server, request(prompt_ids=token_ids(ids)))
        assert server.to(CHAT) == []
    assert caught.value.details == {"token_id": ids[index], "index": index, "vocab_size": 448}


def test_an_id_that_the_engine_sampled_may_be_sent_back() -> None:
    prompt = token_ids([*PROMPT[:-1], 443])  # above the given size, and sampled in the recorded reply
    reply = json.loads(json.dumps(REPLY))
    del reply["choices"][0]["prompt_token_ids"]

    async def twice(engine: SglangEngine) -> None:
        with pytest.raises(TokenOutOfVocabulary):
            await engine.generate(request(prompt_ids=prompt))
        await engine.generate(request())
        await engine.generate(request(prompt_ids=prompt))

    with loopback(answers(**{CHAT: Answer(reply)})) as server:
        run(server, twice, vocab_size=400)
        assert server.to(CHAT)[1].body["input_ids"] == prompt.tolist()


def test_the_engines_own_refusal_keeps_its_status_and_sentence() -> None:
    overflow = recorded("chat_max_overflow")
    with (
        loopback(answers(**{CHAT: Answer(overflow.response, status=overflow.status)})) as server,
        pytest.raises(EngineRefused) as caught,
    ):
        generate(server)
    assert caught.value.http_status == caught.value.details["status"] == 400
    assert caught.value.details["engine_message"] == overflow.response["message"]
    assert EngineRefused.http_status == 502


def test_a_validation_error_of_the_engine_is_passed_on_without_the_prompt_that_it_repeats() -> None:
    said = (
        "1 validation error:\n  {'type': 'string_type', 'loc': ('body', 'messages', 0, 'content'), "
        "'msg': 'Input should be a valid string', 'input': {'secret': 'a prompt'}}"
    )
    with (
        loopback(answers(**{CHAT: Answer({"object": "error", "message": said}, status=400)})) as server,
        pytest.raises(EngineRefused) as caught,
    ):
        generate(server)
    message = str(caught.value.details["engine_message"])
    assert "Input should be a valid string" in message
    assert "a prompt" not in message


def test_a_missing_api_key_is_said_so() -> None:
    missing = recorded("apikey_missing")
    with (
        loopback({"/model_info": Answer(missing.response, status=missing.status)}) as server,
        pytest.raises(EngineRefused) as caught,
    ):
        generate(server)
    assert caught.value.http_status == 401
    assert caught.value.details["engine_message"] == "Unauthorized"
    assert "API key" in (caught.value.hint or "")


@pytest.mark.parametrize("body", [b"x" * 2000, {"error": {"message": "x" * 2000}}])
def test_an_internal_error_of_the_engine_is_a_bad_gateway_with_a_short_message(body: Any) -> None:
    with (
        loopback(answers(**{CHAT: Answer(body, status=500)})) as server,
        pytest.raises(EngineRefused) as caught,
    ):
        generate(server)
    assert caught.value.http_status == 502
    assert caught.value.details["status"] == 500
    assert caught.value.details["engine_message"] == "x" * 500


def test_a_redirect_breaks_the_protocol() -> None:
    with (
        loopback(answers(**{CHAT: Answer(status=307)})) as server,
        pytest.raises(EngineBrokeProtocol, match="307"),
    ):
        generate(server)


def test_a_body_that_is_not_json_breaks_the_protocol() -> None:
    with (
        loopback(answers(**{CHAT: Answer(b"<html>")})) as server,
        pytest.raises(EngineBrokeProtocol, match="not JSON"),
    ):
        generate(server)


def test_no_engine_at_the_url_is_unreachable() -> None:
    with loopback(answers()) as server:
        url = server.url
    with pytest.raises(EngineUnreachable) as caught:
        run(url, lambda engine: engine.generate(request()))
    assert caught.value.details["url"] == url


def test_an_engine_that_drops_the_connection_is_unreachable() -> None:
    with (
        loopback(answers(**{CHAT: Answer(drop=True)})) as server,
        pytest.raises(EngineUnreachable),
    ):
        generate(server)


def test_an_engine_that_is_too_slow_times_out_and_is_told_to_stop() -> None:
    with loopback(answers(**{CHAT: Answer(REPLY, hang=threading.Event())})) as server:
        with pytest.raises(EngineTimeout) as caught:
            generate(server, timeout_seconds=0.3)
        assert server.wait_for("/abort_request").body == {"rid": "r1"}
    assert caught.value.http_status == 504


def test_a_cancelled_generation_is_aborted_in_the_engine() -> None:
    async def cancelled(engine: SglangEngine) -> None:
        task = asyncio.create_task(engine.generate(request(request_id="r-cancelled")))
        await asyncio.to_thread(server.wait_for, CHAT)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with loopback(answers(**{CHAT: Answer(REPLY, hang=threading.Event())})) as server:
        run(server, cancelled)
        assert server.wait_for("/abort_request").body == {"rid": "r-cancelled"}


def test_a_second_cancellation_does_not_stop_the_abort() -> None:
    hang = threading.Event()
    slow = Answer(hang=hang)

    async def cancelled_twice(engine: SglangEngine) -> None:
        task = asyncio.create_task(engine.generate(request()))
        await asyncio.to_thread(server.wait_for, CHAT)
        task.cancel()
        await asyncio.to_thread(server.wait_for, "/abort_request")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        hang.set()
        await asyncio.sleep(0.1)

    with loopback(answers(**{CHAT: Answer(REPLY, hang=threading.Event()), "/abort_request": slow})) as server:
        run(server, cancelled_twice)
        assert len(server.to("/abort_request")) == 1


def test_an_abort_that_fails_does_not_hide_the_cancellation() -> None:
    async def cancelled(engine: SglangEngine) -> None:
        task = asyncio.create_task(engine.generate(request()))
        await asyncio.to_thread(server.wait_for, CHAT)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    hanging = {CHAT: Answer(REPLY, hang=threading.Event()), "/abort_request": Answer(drop=True)}
    with loopback(answers(**hanging)) as server:
        run(server, cancelled)


def test_many_generations_run_at_once() -> None:
    gate = threading.Event()

    async def many(engine: SglangEngine) -> list[Completion]:
        tasks = [asyncio.create_task(engine.generate(request(request_id=f"r{i}"))) for i in range(120)]
        async with asyncio.timeout(30):
            while len(server.to(CHAT)) < 120:
                await asyncio.sleep(0.01)
        gate.set()
        return await asyncio.gather(*tasks)

    with loopback(answers(**{CHAT: Answer(REPLY, hang=gate)})) as server:
        started = time.monotonic()
        assert len(run(server, many)) == 120
    assert time.monotonic() - started < 30
    assert {asked.body["rid"] for asked in server.to(CHAT)} == {f"r{i}" for i in range(120)}
