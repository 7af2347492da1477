"""Real generations of the tiny model."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import Qwen3ForCausalLM

from tests.engine_embedded.requests import OPEN_THINK, TOKENIZER, WEATHER, a_request
from titocli.engine.embedded import EmbeddedEngine
from titocli.engine.embedded.network import tiny_network
from titocli.errors import (
    ConflictingOption,
    EngineAborted,
    EngineRefused,
    EngineUnreachable,
    MissingExtra,
    TokenOutOfVocabulary,
    UnreadableFile,
    UnsupportedRequest,
)
from titocli.families.registry import get_family
from titocli.families.tiny import tiny_tokenizer
from titocli.jsonvalue import JsonValue
from titocli.session.generation import Completion, FinishReason, GenerateRequest

STOP = TOKENIZER.token_id("<|im_end|>")
QWEN3 = get_family("qwen3")


class Started:
    """An engine on an event loop that lives as long as the module's tests."""

    def __init__(self, engine: EmbeddedEngine, runner: asyncio.Runner) -> None:
        self.engine = engine
        self._runner = runner

    def generate(self, request: GenerateRequest) -> Completion:
        return self._runner.run(self.engine.generate(request))

    def run(self, test: Callable[[EmbeddedEngine], Awaitable[Any]]) -> Any:
        async def wrapped() -> Any:
            return await test(self.engine)

        return self._runner.run(wrapped())


def _start(engine: EmbeddedEngine) -> Iterator[Started]:
    with asyncio.Runner() as runner:
        runner.run(engine.start())
        yield Started(engine, runner)
        runner.run(engine.aclose())


@pytest.fixture(scope="module")
def qwen3() -> Iterator[Started]:
    yield from _start(EmbeddedEngine(QWEN3, TOKENIZER))


@pytest.fixture(scope="module")
def qwen35() -> Iterator[Started]:
    family = get_family("qwen35")
    yield from _start(EmbeddedEngine(family, tiny_tokenizer(family)))


@pytest.fixture
def fresh() -> Iterator[Started]:
    yield from _start(EmbeddedEngine(QWEN3, TOKENIZER))


def test_a_completion_thinks_speaks_and_ends_with_the_stop_token(qwen3: Started) -> None:
    done = qwen3.generate(a_request(session_id="speak"))
    assert done.finish_reason is FinishReason.STOP
    assert done.ids[-1] == done.matched_stop == STOP
    assert len(done.log_probs) == len(done.ids)
    assert all(log_prob < 0 for log_prob in done.log_probs)
    assert (done.response_id, done.model, done.cached_tokens) == ("chatcmpl-one", "titocli-tiny-qwen3", 0)
    reasoning, _, content = TOKENIZER.decode(done.ids).removesuffix("<|im_end|>").partition("</think>")
    assert done.message["role"] == "assistant"
    assert str(done.message["reasoning_content"]).strip() == reasoning.strip()
    assert str(done.message["content"]).strip() == content.strip()
    assert content.strip()


@pytest.mark.parametrize("family", ["qwen3", "qwen35"])
@pytest.mark.parametrize("session", range(3))
def test_required_calls_are_sampled_and_parsed(
    family: str, session: int, request: pytest.FixtureRequest
) -> None:
    engine: Started = request.getfixturevalue(family)
    asked = a_request(session_id=f"call-{session}", tools=(WEATHER,), options={"tool_choice": "required"})
    done = engine.generate(asked)
    assert done.finish_reason is FinishReason.TOOL_CALLS
    calls: Any = done.message["tool_calls"]
    assert 1 <= len(calls) <= 2
    for call in calls:
        assert call["function"]["name"] == "get_weather"
        arguments = json.loads(call["function"]["arguments"])
        assert list(arguments) == ["city", "days"]
        assert isinstance(arguments["city"], str)
        assert isinstance(arguments["days"], int)
    assert len(done.parse_attempts) == len(calls)
    json.dumps(done.parse_attempts)


def test_a_named_tool_choice_calls_that_tool(qwen3: Started) -> None:
    other = {"type": "function", "function": {"name": "other", "parameters": {"type": "object"}}}
    named = {"tool_choice": {"type": "function", "function": {"name": "other"}}}
    done = qwen3.generate(a_request(session_id="named", tools=(WEATHER, other), options=named))
    calls: Any = done.message["tool_calls"]
    assert {call["function"]["name"] for call in calls} == {"other"}
    assert {call["function"]["arguments"] for call in calls} == {"{}"}


def test_without_a_choice_there_is_text_in_some_sessions_and_calls_in_others(qwen3: Started) -> None:
    reasons = {
        qwen3.generate(a_request(session_id=f"auto-{n}", tools=(WEATHER,))).finish_reason for n in range(8)
    }
    assert reasons == {FinishReason.STOP, FinishReason.TOOL_CALLS}


def test_ids_need_not_be_canonical(qwen3: Started) -> None:
    """A tag may come spelled out in bytes: such ids are what must survive in a session."""
    asked = [a_request(session_id=f"spelled-{n}") for n in range(12)]
    sampled = [list(qwen3.generate(request).ids) for request in asked]
    canonical = [ids == TOKENIZER.encode(TOKENIZER.decode(ids)) for ids in sampled]
    assert True in canonical
    assert False in canonical


@pytest.mark.parametrize("temperature", [0.0, 0.8, 1.0])
def test_log_probs_are_those_of_a_full_forward_without_cache(qwen3: Started, temperature: float) -> None:
    first = a_request(session_id=f"log-{temperature}", options={"temperature": temperature})
    turn = qwen3.generate(first)
    longer = [
        *first.prompt_ids,
        *turn.ids,
        *TOKENIZER.encode("\n<|im_start|>user\nmore<|im_end|>\n" + OPEN_THINK),
    ]
    second = a_request(
        session_id=f"log-{temperature}", prompt_ids=longer, options={"temperature": temperature}
    )
    done = qwen3.generate(second)
    assert (done.cached_tokens or 0) > len(first.prompt_ids)
    for request, completion in ((first, turn), (second, done)):
        expected = _log_probs(request, completion, temperature)
        found = torch.tensor(completion.log_probs, dtype=torch.float64)
        assert torch.allclose(found, expected, atol=1e-4, rtol=0)


def _log_probs(request: GenerateRequest, done: Completion, temperature: float) -> torch.Tensor:
    network = tiny_network(TOKENIZER.vocab_size, seed=0)
    model: Qwen3ForCausalLM = network._model
    start = len(request.prompt_ids)
    with torch.inference_mode():
        logits = model(torch.tensor([[*request.prompt_ids, *done.ids]]), use_cache=False).logits[0]
    scaled = torch.log_softmax(logits.double() / (temperature or 1.0), -1)
    return scaled[start - 1 : -1].gather(1, torch.tensor(done.ids.tolist())[:, None])[:, 0]


def test_the_cache_holds_what_was_read_and_is_cropped_to_the_shared_prefix(qwen3: Started) -> None:
    first = a_request(session_id="cache")
    done = qwen3.generate(first)
    history = [*first.prompt_ids, *done.ids]
    continued = qwen3.generate(a_request(session_id="cache", prompt_ids=[*history, 10]))
    assert continued.cached_tokens == len(history) - 1, "the last sampled id was never read"
    forked = qwen3.generate(a_request(session_id="cache", prompt_ids=[*history[:5], 11, 12]))
    assert forked.cached_tokens == 5
    again = qwen3.generate(a_request(session_id="cache", prompt_ids=history[:5]))
    assert again.cached_tokens == 4, "the last prompt id is read again for its logits"
    assert qwen3.generate(a_request(session_id="cold", prompt_ids=history)).cached_tokens == 0


def test_the_session_used_longest_ago_is_forgotten_after_eight(fresh: Started) -> None:
    brief = {"max_tokens": 1}
    for n in (0, 1, 2, 3, 4, 5, 6, 7, 0, 8):
        fresh.generate(a_request(session_id=f"{n}", options=brief))
    assert fresh.generate(a_request(session_id="0", options=brief)).cached_tokens
    assert fresh.generate(a_request(session_id="1", options=brief)).cached_tokens == 0


def test_a_long_prompt_is_read_in_pieces_to_the_same_result(qwen3: Started) -> None:
    request = a_request(session_id="long", prompt="a" * 1200 + OPEN_THINK, options={"max_tokens": 3})
    done = qwen3.generate(request)
    found = torch.tensor(done.log_probs, dtype=torch.float64)
    assert torch.allclose(found, _log_probs(request, done, 1.0), atol=1e-4, rtol=0)


def test_runs_are_reproducible(qwen3: Started, fresh: Started) -> None:
    request = a_request(session_id="same")
    left, right = qwen3.generate(request), fresh.generate(request)
    assert left.ids == right.ids
    assert left.log_probs == right.log_probs
    assert left.ids != qwen3.generate(a_request(session_id="different")).ids
    seeded = [qwen3.generate(a_request(session_id=f"seeded-{n}", options={"seed": 5})).ids for n in range(2)]
    assert seeded[0] == seeded[1]


def test_another_engine_seed_is_another_model() -> None:
    for other in _start(EmbeddedEngine(QWEN3, TOKENIZER, seed=1)):
        greedy = a_request(options={"temperature": 0, "max_tokens": 4})
        zero = _log_probs(greedy, other.generate(greedy), 0.0)
        assert not torch.allclose(
            torch.tensor(list(other.generate(greedy).log_probs)).double(), zero, atol=1e-3
        )


def test_the_length_limit_cuts_and_calls_that_were_cut_do_not_count(qwen3: Started) -> None:
    options: dict[str, JsonValue] = {"max_completion_tokens": 5}
    done = qwen3.generate(a_request(session_id="cut", options=options))
    assert (len(done.ids), done.finish_reason, done.matched_stop) == (5, FinishReason.LENGTH, None)
    asked = a_request(session_id="cut-call", tools=(WEATHER,), options={"tool_choice": "required"})
    whole = len(qwen3.generate(asked).ids)
    options = {"tool_choice": "required", "max_tokens": whole - 1}
    cut = qwen3.generate(a_request(session_id="cut-call", tools=(WEATHER,), options=options))
    assert cut.finish_reason is FinishReason.LENGTH


def test_a_requests_own_stop_token_ends_it_unless_stops_are_ignored(qwen3: Started) -> None:
    plain = qwen3.generate(a_request(session_id="stops"))
    third = plain.ids[2]
    stopped = qwen3.generate(a_request(session_id="stops", options={"stop_token_ids": [third]}))
    assert stopped.ids == plain.ids[: plain.ids.index(third) + 1]
    assert (stopped.matched_stop, stopped.finish_reason) == (third, FinishReason.STOP)
    ignoring = {"ignore_eos": True, "max_tokens": len(plain.ids) + 3, "stop_token_ids": [third]}
    ignored = qwen3.generate(a_request(session_id="stops", options=ignoring))
    assert ignored.finish_reason is FinishReason.LENGTH
    assert list(ignored.ids) == [*plain.ids, STOP, STOP, STOP]


def test_a_cancelled_task_ends_the_generation_and_leaves_the_engine_usable(fresh: Started) -> None:
    # Stop tokens are ignored, so that only the cancel can end it within the test's patience.
    endless = a_request(session_id="endless", options={"ignore_eos": True, "max_tokens": 10**9})

    async def cancel(engine: EmbeddedEngine) -> Completion:
        task = asyncio.create_task(engine.generate(endless))
        await asyncio.sleep(0.3)
        assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await asyncio.wait_for(engine.generate(a_request(session_id="endless")), timeout=60)

    after = fresh.run(cancel)
    assert after.cached_tokens == len(endless.prompt_ids) - 1, "what was read before the cancel is kept"
    assert after.ids == fresh.generate(a_request(session_id="endless")).ids


def test_a_request_that_waits_can_be_cancelled_without_running(fresh: Started) -> None:
    async def cancel(engine: EmbeddedEngine) -> None:
        running = asyncio.create_task(engine.generate(a_request(session_id="running")))
        waiting = asyncio.create_task(engine.generate(a_request(session_id="waiting")))
        await asyncio.sleep(0)
        waiting.cancel()
        assert (await running).finish_reason is FinishReason.STOP
        with pytest.raises(asyncio.CancelledError):
            await waiting
        later = await engine.generate(a_request(session_id="waiting"))
        assert later.cached_tokens == 0

    fresh.run(cancel)


def test_closing_aborts_what_runs_and_may_be_repeated() -> None:
    async def close() -> None:
        engine = EmbeddedEngine(QWEN3, TOKENIZER)
        await engine.start()
        endless = a_request(options={"ignore_eos": True, "max_tokens": 10**9})
        task = asyncio.create_task(engine.generate(endless))
        await asyncio.sleep(0.2)
        await engine.aclose()
        with pytest.raises(EngineAborted):
            await task
        await engine.aclose()
        with pytest.raises(EngineUnreachable):
            await engine.generate(a_request())

    asyncio.run(close())


@pytest.mark.parametrize("token_id", [320, 2**31 - 1, -1])
def test_ids_outside_the_vocabulary_are_refused_before_anything_runs(qwen3: Started, token_id: int) -> None:
    with pytest.raises(TokenOutOfVocabulary) as refused:
        qwen3.generate(a_request(session_id=f"outside-{token_id}", prompt_ids=[1, 2, token_id]))
    assert refused.value.details == {"token_id": token_id, "index": 2, "vocab_size": 320}
    inside = qwen3.generate(a_request(session_id=f"outside-{token_id}", prompt_ids=[1, 2, 319]))
    assert inside.cached_tokens == 0


def test_an_empty_prompt_and_options_that_cannot_be_honoured_are_refused(qwen3: Started) -> None:
    with pytest.raises(EngineRefused):
        qwen3.generate(a_request(prompt_ids=[]))
    with pytest.raises(UnsupportedRequest):
        qwen3.generate(a_request(options={"stop": ["x"]}))


def test_it_says_so_when_it_was_not_started() -> None:
    with pytest.raises(EngineUnreachable):
        asyncio.run(EmbeddedEngine(QWEN3, TOKENIZER).generate(a_request()))


def test_without_the_extra_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(MissingExtra) as missing:
        asyncio.run(EmbeddedEngine(QWEN3, TOKENIZER).start())
    assert missing.value.hint == "pip install 'titocli[torch]'"


def test_a_checkpoint_directory_is_loaded_and_left_alone_unless_calls_are_required(tmp_path: Path) -> None:
    directory = tmp_path / "my-model"
    tiny_network(TOKENIZER.vocab_size, seed=3)._model.save_pretrained(directory)
    for checkpoint in _start(EmbeddedEngine(QWEN3, TOKENIZER, model_dir=directory)):
        assert checkpoint.engine.model == "my-model"
        free = checkpoint.generate(a_request(tools=(WEATHER,), options={"max_tokens": 64}))
        assert max(free.ids) < TOKENIZER.vocab_size
        assert any(byte >= 0x80 for byte in free.ids), "random weights write anything"
        closed = "<|im_start|>assistant\n<think>\n\n</think>\n\n"
        called = checkpoint.generate(
            a_request(
                prompt=closed,
                generation_prompt=closed,
                tools=(WEATHER,),
                options={"tool_choice": "required"},
            )
        )
        assert called.finish_reason is FinishReason.TOOL_CALLS
        assert TOKENIZER.decode(called.ids).startswith("<tool_call>\n")


def test_a_directory_that_is_no_qwen3_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile):
        asyncio.run(EmbeddedEngine(QWEN3, TOKENIZER, model_dir=tmp_path).start())
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(ConflictingOption):
        asyncio.run(EmbeddedEngine(QWEN3, TOKENIZER, model_dir=tmp_path).start())


def test_a_family_without_stop_tokens_still_ends() -> None:
    default = get_family("default")
    for started in _start(EmbeddedEngine(default, tiny_tokenizer(default))):
        done = started.generate(a_request(prompt_ids=[65], generation_prompt=""))
        assert done.finish_reason is FinishReason.STOP
        assert done.matched_stop is None
        assert len(done.ids) == 32


@pytest.mark.parametrize(
    "module", ["titocli.engine.embedded", "titocli.engine.replay", "titocli.tokens.byte_level"]
)
def test_importing_it_does_not_import_torch(module: str) -> None:
    code = f"import sys, {module}; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
