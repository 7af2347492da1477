"""The SGLang adapter against the real SGLang: ids and log-probs as sampled, failures as titocli's errors."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from typing import Any, TypeVar

import httpx
import pytest

from tests.assets import qwen3_tokenizer
from titocli.engine.sglang import SglangEngine
from titocli.errors import EngineAborted, EngineRefused, TokenOutOfVocabulary
from titocli.families.registry import get_family
from titocli.families.renderer import Renderer, family_renderer
from titocli.session.generation import Completion, FinishReason, GenerateRequest, WeightVersion
from titocli.tokens.ids import token_ids
from titocli.tokens.tokenizer import Tokenizer

pytestmark = pytest.mark.engine

USER = {"role": "user", "content": "What is the weather in Paris?"}
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
TOOL_CALL = r'<tool_call>\n\{"name": "get_weather", "arguments": \{"city": "Paris"\}\}\n</tool_call>'
STOP_IDS = (151_643, 151_645)
VOCAB_SIZE = 151_936

Result = TypeVar("Result")
Use = Callable[[SglangEngine], Awaitable[Result]]


@pytest.fixture(scope="session")
def renderer() -> Renderer:
    path = qwen3_tokenizer()
    return family_renderer(get_family("qwen3"), Tokenizer(path.read_text(encoding="utf-8"), source="qwen3"))


@pytest.fixture(scope="session")
def request_ids() -> count[int]:
    return count()


@pytest.fixture
def ask(renderer: Renderer, request_ids: count[int]) -> Callable[..., GenerateRequest]:
    """A request for one turn; ``prompt_ids`` stand for the rendered ones, other names are options."""

    def build(
        *, thinking: bool = True, tools: Sequence[Any] = (), prompt_ids: Sequence[int] = (), **options: Any
    ) -> GenerateRequest:
        kwargs = {"clear_thinking": False, "enable_thinking": thinking}
        text = renderer.text([USER], tools=tools, kwargs=kwargs, generation_prompt=True)
        return GenerateRequest(
            request_id=f"live-{next(request_ids)}",
            session_id="live",
            prompt_ids=token_ids(prompt_ids or renderer.tokenizer.encode(text)),
            generation_prompt="",
            messages=[USER],
            tools=tools,
            template_kwargs=kwargs,
            options={"max_tokens": 16, "temperature": 1.0, **options},
        )

    return build


def run(url: str, use: Use[Result]) -> Result:
    async def main() -> Result:
        engine = SglangEngine(url, timeout_seconds=120)
        await engine.start()
        try:
            return await use(engine)
        finally:
            await engine.aclose()

    return asyncio.run(main())


def generate(url: str, request: GenerateRequest) -> Completion:
    return run(url, lambda engine: engine.generate(request))


def post(url: str, path: str, body: Any) -> Any:
    response = httpx.post(f"{url}{path}", json=body, timeout=60, trust_env=False)
    assert response.status_code == 200, response.text
    return response.json() if response.content else None


def running(url: str) -> int:
    loads = httpx.get(f"{url}/v1/loads", timeout=10, trust_env=False).json()["loads"]
    return sum(load["num_running_reqs"] + load["num_waiting_reqs"] for load in loads)


def test_start_learns_model_and_vocabulary_from_the_engine(sglang_url: str) -> None:
    async def facts(engine: SglangEngine) -> tuple[str, int]:
        return engine.model.rsplit("/", 1)[-1], engine.vocab_size

    assert run(sglang_url, facts) == ("tiny-qwen3", VOCAB_SIZE)


def test_a_completion_has_one_id_and_one_log_prob_a_token(
    sglang_url: str, ask: Callable[..., GenerateRequest]
) -> None:
    request = ask(max_tokens=24, ignore_eos=True, return_prompt_token_ids=True)
    completion = generate(sglang_url, request)
    assert len(completion.ids) == len(completion.log_probs) == 24
    assert completion.finish_reason is FinishReason.LENGTH
    assert all(-40 < log_prob < 0 for log_prob in completion.log_probs)
    assert completion.engine_prompt_ids == request.prompt_ids
    assert completion.weight_versions == (WeightVersion(version="default", start=0, end=24),)
    assert completion.message["content"] == ""  # thinking, and no </think> yet
    assert completion.message["reasoning_content"]


def test_log_probs_are_those_that_the_engine_gives_the_same_ids_as_a_prompt(
    sglang_url: str, ask: Callable[..., GenerateRequest]
) -> None:
    request = ask(max_tokens=24, ignore_eos=True)
    completion = generate(sglang_url, request)
    ids = [*request.prompt_ids, *completion.ids]
    scoring = {"sampling_params": {"max_new_tokens": 1}, "return_logprob": True, "logprob_start_len": 0}
    scored = post(sglang_url, "/generate", {"input_ids": ids, **scoring})["meta_info"]["input_token_logprobs"]
    rescored = scored[-24:]
    assert [entry[1] for entry in rescored] == completion.ids.tolist()
    for sampled, (again, *_) in zip(completion.log_probs, rescored, strict=True):
        assert math.isclose(sampled, again, abs_tol=0.05)  # bfloat16, prefill against decode


def test_ids_that_no_tokenizer_would_give_arrive_as_they_are(
    sglang_url: str, ask: Callable[..., GenerateRequest], renderer: Renderer
) -> None:
    spelt_out = [i for char in "Hello Paris" for i in renderer.tokenizer.encode(char)]
    assert renderer.tokenizer.encode(renderer.tokenizer.decode(spelt_out)) != spelt_out
    padded = [*spelt_out, VOCAB_SIZE - 1]  # a row of the model that is no token
    completion = generate(sglang_url, ask(prompt_ids=padded, return_prompt_token_ids=True))
    assert completion.engine_prompt_ids == token_ids(padded)


def test_a_continued_prompt_is_read_from_the_cache(
    sglang_url: str, ask: Callable[..., GenerateRequest]
) -> None:
    request = ask(max_tokens=8, ignore_eos=True)
    first = generate(sglang_url, request)
    longer = [*request.prompt_ids, *first.ids, 198]
    second = generate(sglang_url, ask(prompt_ids=longer, max_tokens=1))
    assert second.cached_tokens is not None
    assert second.cached_tokens >= len(longer) - 2


def test_a_tool_call_in_ids_that_are_not_canonical_is_parsed_and_kept(
    sglang_url: str, ask: Callable[..., GenerateRequest], renderer: Renderer
) -> None:
    request = ask(thinking=False, tools=[TOOL], regex=TOOL_CALL, max_tokens=200)
    completion = generate(sglang_url, request)
    assert completion.finish_reason is FinishReason.TOOL_CALLS
    calls: Any = completion.message["tool_calls"]
    (call,) = calls
    assert call["function"] == {"name": "get_weather", "arguments": '{"city": "Paris"}'}
    assert completion.message["content"] == ""
    stop = completion.ids[-1]
    assert stop in STOP_IDS
    text = renderer.tokenizer.decode(completion.ids[:-1])
    assert text == TOOL_CALL.replace(r"\n", "\n").replace("\\", "")
    assert [*renderer.tokenizer.encode(text), stop] != completion.ids.tolist()


def test_a_stop_string_cuts_the_text_and_leaves_the_ids(
    sglang_url: str, ask: Callable[..., GenerateRequest], renderer: Renderer
) -> None:
    # One letter: SGLang looks for a stop string in as many last tokens as the string's own encoding has, plus one,
    # so it misses a long one that was sampled in small pieces.
    request = ask(thinking=False, regex="one Z two", stop=["Z"], max_tokens=50)
    completion = generate(sglang_url, request)
    assert completion.finish_reason is FinishReason.STOP
    assert completion.matched_stop == "Z"
    assert completion.message["content"] == "one "
    assert renderer.tokenizer.decode(completion.ids).startswith("one Z")


def test_a_cancelled_generation_leaves_the_engine_idle(
    sglang_url: str, ask: Callable[..., GenerateRequest]
) -> None:
    async def cancel(engine: SglangEngine) -> None:
        task = asyncio.create_task(engine.generate(ask(max_tokens=20_000, ignore_eos=True)))
        await asyncio.sleep(1.0)
        assert running(sglang_url) == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(sglang_url, cancel)
    deadline = time.monotonic() + 5  # all of it would take minutes
    while running(sglang_url) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert running(sglang_url) == 0


def test_an_id_outside_the_vocabulary_is_refused_and_the_engine_lives(
    sglang_url: str, ask: Callable[..., GenerateRequest]
) -> None:
    for bad in (VOCAB_SIZE, -1):
        with pytest.raises(TokenOutOfVocabulary):
            generate(sglang_url, ask(prompt_ids=[1, bad, 2]))
    assert len(generate(sglang_url, ask(max_tokens=2, ignore_eos=True)).ids) == 2


def test_the_engines_refusal_is_passed_on_with_its_status(
    sglang_url: str, ask: Callable[..., GenerateRequest]
) -> None:
    with pytest.raises(EngineRefused) as caught:
        generate(sglang_url, ask(max_tokens=1_000_000))
    assert caught.value.http_status == 400
    assert "1000000" in str(caught.value.details["engine_message"])


def test_an_abort_in_the_engine_is_an_error_and_no_completion(
    sglang_url: str, ask: Callable[..., GenerateRequest]
) -> None:
    async def aborted(engine: SglangEngine) -> None:
        task = asyncio.create_task(engine.generate(ask(max_tokens=20_000, ignore_eos=True)))
        await asyncio.sleep(1.0)
        await asyncio.to_thread(post, sglang_url, "/abort_request", {"abort_all": True})
        with pytest.raises(EngineAborted):
            await task

    run(sglang_url, aborted)


def test_the_version_of_the_weights_comes_with_the_completion(
    sglang_url: str, ask: Callable[..., GenerateRequest]
) -> None:
    try:
        post(sglang_url, "/update_weight_version", {"new_version": "step-7"})
        completion = generate(sglang_url, ask(max_tokens=3, ignore_eos=True))
    finally:
        post(sglang_url, "/update_weight_version", {"new_version": "default"})
    assert completion.weight_versions == (WeightVersion(version="step-7", start=0, end=3),)


def test_many_sessions_generate_at_once(sglang_url: str, ask: Callable[..., GenerateRequest]) -> None:
    async def many(engine: SglangEngine) -> list[Completion]:
        requests = [ask(max_tokens=8, ignore_eos=True, return_prompt_token_ids=True) for _ in range(32)]
        return await asyncio.gather(*map(engine.generate, requests))

    completions = run(sglang_url, many)
    assert {len(completion.ids) for completion in completions} == {8}
    assert len({completion.response_id for completion in completions}) == 32
