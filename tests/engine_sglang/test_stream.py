"""SGLang's streamed replies: pieces, ids, log-probs, and everything that can break on the way."""

from __future__ import annotations

import asyncio
import json
import threading
from array import array
from collections.abc import Callable
from typing import Any

import pytest

from tests.engine_sglang.loopback import Answer, Loopback, loopback
from tests.engine_sglang.test_adapter import CHAT, PROMPT, REPLY, TOOL, answers, request, run
from titocli.engine.pieces import MessageAssembly
from titocli.engine.sglang import SglangEngine
from titocli.errors import (
    EngineAborted,
    EngineBrokeProtocol,
    EngineError,
    EngineRefused,
    EngineTimeout,
    EngineUnreachable,
)
from titocli.session.generation import (
    Completion,
    FinishReason,
    GenerateRequest,
    MessageDelta,
    ReplayKind,
    ReplayOutputs,
    ReplayRequest,
)

IDS = [5, 6, 7, 8]


def chunk(delta: Any, log_probs: list[float] = [], **more: Any) -> Any:  # noqa: B006 - never changed
    content = [{"token": "x", "bytes": [], "logprob": value, "top_logprobs": []} for value in log_probs]
    choice = {"index": 0, "delta": delta, "logprobs": {"content": content} if content else None}
    return {"id": "r1", "model": "tiny", "choices": [{"finish_reason": None, **choice, **more}]}


def call(index: int, arguments: str, **first: Any) -> Any:
    named = {"id": first.get("id"), "function": {"name": first.get("name"), "arguments": arguments}}
    return {"tool_calls": [{"index": index, "type": "function", **named}]}


def body(*chunks: Any, done: bool = True) -> Answer:
    """A body of events as SGLang writes it."""
    events = [json.dumps(item, ensure_ascii=False) for item in chunks] + (["[DONE]"] if done else [])
    return Answer("".join(f"data: {event}\n\n" for event in events).encode())


ROLE = chunk({"role": "assistant", "content": "", "reasoning_content": None})
END = chunk({"reasoning_content": None}, finish_reason="stop", matched_stop=8)
IDS_CHUNK: Any = {"id": "r1", "choices": [], "usage": None, "sglext": {"output_ids": [IDS]}}
USAGE = {
    "id": "r1",
    "choices": [],
    "usage": {
        "prompt_tokens": len(PROMPT),
        "completion_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": 3},
    },
}
SAID = [
    ROLE,
    chunk({"reasoning_content": "hm\u2028"}, [-0.5]),
    chunk({"content": "fine"}, [-1.0, -1.5]),
    chunk({}, [-2.0]),
    END,
]
GOOD = body(*SAID, IDS_CHUNK, USAGE)


async def streamed(engine: SglangEngine, asked: GenerateRequest | None = None) -> list[Any]:
    return [piece async for piece in engine.stream(asked or request())]


def twice(server: Loopback, asked: GenerateRequest | None = None, **options: Any) -> list[Any]:
    """The pieces of a second stream: the first one shows that the engine can."""

    async def use(engine: SglangEngine) -> list[Any]:
        server.answers[CHAT], second = GOOD, server.answers[CHAT]
        await streamed(engine)
        server.answers[CHAT] = second
        return await streamed(engine, asked)

    return list(run(server, use, **options))


def test_pieces_come_first_and_the_completion_with_the_engines_ids_last() -> None:
    with loopback(answers(**{CHAT: GOOD})) as server:
        *pieces, completion = twice(server)

    assert pieces == [MessageDelta(reasoning="hm\u2028"), MessageDelta(content="fine")]
    assert isinstance(completion, Completion)
    assert completion.ids.tolist() == IDS
    assert completion.log_probs == array("d", [-0.5, -1.0, -1.5, -2.0])
    assert completion.message == {"role": "assistant", "content": "fine", "reasoning_content": "hm\u2028"}
    assert (completion.finish_reason, completion.matched_stop) == (FinishReason.STOP, 8)
    assert (completion.cached_tokens, completion.response_id, completion.model) == (3, "r1", "tiny")


def test_what_is_sent_asks_for_ids_in_the_last_chunk_and_for_nothing_that_streaming_refuses() -> None:
    options = {"return_token_ids": True, "return_prompt_token_ids": True, "temperature": 0.5}
    with loopback(answers(**{CHAT: GOOD})) as server:
        run(server, lambda engine: streamed(engine, request(options=options, tools=[TOOL])))
    sent = server.to(CHAT)[0]

    assert sent.headers["X-SMG-Routing-Key"] == "s1"
    assert sent.body["input_ids"] == PROMPT
    assert sent.body["stream"] is True
    assert sent.body["stream_options"] == {"include_usage": True}
    assert sent.body["logprobs"] is True
    assert sent.body["return_output_ids_in_sglext"] is True
    assert sent.body["return_input_ids_in_sglext"] is True
    assert sent.body["temperature"] == 0.5
    assert not {"return_meta_info", "return_token_ids", "return_prompt_token_ids"} & sent.body.keys()


def test_tool_calls_are_counted_from_zero_and_grow_by_their_arguments() -> None:
    calls = [
        ROLE,
        chunk(call(0, "", id="c0", name="a"), [-1.0]),
        chunk(call(0, '{"x":'), [-1.0]),
        chunk(call(0, " 1}")),
        chunk(call(7, "{}", id="c7", name="b"), [-1.0, -1.0]),
        chunk({}, finish_reason="tool_calls"),
        IDS_CHUNK,
        USAGE,
    ]
    with loopback(answers(**{CHAT: body(*calls)})) as server:
        *pieces, completion = twice(server)
    assembly = MessageAssembly()
    for piece in pieces:
        assembly.add(piece)

    assert [piece.tool_call.index for piece in pieces] == [0, 0, 0, 1]
    assert [piece.tool_call.name for piece in pieces] == ["a", None, None, "b"]
    assert completion.message == assembly.message()
    assert [each["function"]["arguments"] for each in completion.message["tool_calls"]] == ['{"x": 1}', "{}"]
    assert completion.finish_reason is FinishReason.TOOL_CALLS


def slowly() -> Answer:
    """The good answer, of which the end comes only once its event is set."""
    return Answer(GOOD.body, pause_at=GOOD.body.index(b"fine") + 10, hang=threading.Event())


def test_the_first_stream_is_held_back_until_its_ids_are_there_and_later_ones_are_not() -> None:
    async def first_piece_comes_before_the_end(engine: SglangEngine) -> bool:
        server.answers[CHAT] = slow = slowly()
        stream = engine.stream(request())
        first = asyncio.ensure_future(anext(stream))
        done, _ = await asyncio.wait({first}, timeout=0.5)
        assert slow.hang is not None
        slow.hang.set()
        assert len([await first, *[piece async for piece in stream]]) == 3
        return bool(done)

    async def both(engine: SglangEngine) -> list[bool]:
        return [await first_piece_comes_before_the_end(engine) for _ in range(2)]

    with loopback(answers(**{CHAT: GOOD})) as server:
        assert run(server, both) == [False, True]


@pytest.mark.parametrize(
    "older",
    [
        body(*SAID, USAGE),  # before 0.5.20: unknown fields are ignored, and there are no ids
        body(*SAID[:3], END, IDS_CHUNK, USAGE),  # without parsers: log-probs of silent tokens are left out
        Answer({"object": "error", "message": "no such field"}, status=400),
    ],
)
def test_an_engine_that_cannot_stream_ids_generates_as_a_whole_and_is_remembered(older: Answer) -> None:
    def answer(asked: Any) -> Answer:
        return older if asked.get("stream") else Answer(REPLY)

    with loopback(answers(**{CHAT: Answer(choose=answer)})) as server:

        async def use(engine: SglangEngine) -> list[Any]:
            return [await streamed(engine), await streamed(engine)]

        both = run(server, use)
    message = both[0][-1].message

    assert [bool(asked.body.get("stream")) for asked in server.to(CHAT)] == [True, False, False]
    assert both[0] == both[1]
    assert [piece.reasoning for piece in both[0][:-1]] == [message["reasoning_content"]]
    assert both[0][-1].ids.tolist() == REPLY["choices"][0]["response_token_ids"]


def test_a_request_that_is_refused_either_way_is_refused_and_proves_nothing() -> None:
    refusal = Answer({"object": "error", "message": "too long"}, status=400)
    with loopback(answers(**{CHAT: refusal})) as server:

        async def use(engine: SglangEngine) -> None:
            with pytest.raises(EngineRefused):
                await streamed(engine)
            server.answers[CHAT] = GOOD
            await streamed(engine)

        run(server, use)
    assert [bool(asked.body.get("stream")) for asked in server.to(CHAT)] == [True, False, True]


def test_a_later_stream_without_ids_fails_and_the_engine_is_asked_for_wholes_from_then_on() -> None:
    with loopback(answers(**{CHAT: body(*SAID, USAGE)})) as server:

        async def use(engine: SglangEngine) -> None:
            without, server.answers[CHAT] = server.answers[CHAT], GOOD
            await streamed(engine)
            server.answers[CHAT] = without
            with pytest.raises(EngineBrokeProtocol, match="one id and one log-prob"):
                await streamed(engine)
            server.answers[CHAT] = Answer(REPLY)
            await streamed(engine)

        run(server, use)
    assert not server.to(CHAT)[-1].body.get("stream")


@pytest.mark.case("c13")
@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        (body(*SAID[:3], done=False), EngineBrokeProtocol, "ended before"),
        (body(*SAID[:2], {"error": {"message": "boom", "code": 500}}), EngineRefused, "broke the generation"),
        (body(ROLE, chunk({}, [-1.0], finish_reason="abort"), IDS_CHUNK), EngineAborted, "aborted"),
        (body(*SAID, IDS_CHUNK, {**USAGE, "usage": {"completion_tokens": 9}}), EngineBrokeProtocol, "9"),
        (body(*SAID, IDS_CHUNK, {**USAGE, "usage": {"prompt_tokens": 9}}), EngineBrokeProtocol, "9 prompt"),
        (body(ROLE, chunk(call(0, "{}"))), EngineBrokeProtocol, "has not begun"),
        (body(ROLE, chunk({}, [None])), EngineBrokeProtocol, "without a log-prob"),  # type: ignore[list-item] # broken on purpose
        (body([1]), EngineBrokeProtocol, "not an object"),
        (Answer(b"data: {\n\n"), EngineBrokeProtocol, "not JSON"),
        (Answer({"message": "busy"}, status=503), EngineRefused, "503"),
        (Answer(drop=True), EngineUnreachable, "cannot be reached"),
        (Answer(GOOD.body, cut=200), EngineUnreachable, "closed the connection"),
    ],
)
def test_what_breaks_a_stream_is_an_error_of_the_engine(
    answer: Answer, error: type[EngineError], said: str
) -> None:
    with loopback(answers(**{CHAT: answer})) as server, pytest.raises(error, match=said):
        twice(server)


def test_a_stream_that_ends_before_its_completion_gives_no_completion() -> None:
    with loopback(answers(**{CHAT: body(*SAID[:3], done=False)})) as server:
        got: list[Any] = []

        async def use(engine: SglangEngine) -> None:
            broken, server.answers[CHAT] = server.answers[CHAT], GOOD
            await streamed(engine)
            server.answers[CHAT] = broken
            stream = engine.stream(request())
            got.extend([await anext(stream), await anext(stream)])
            with pytest.raises(EngineBrokeProtocol):
                await anext(stream)

        run(server, use)
    assert got == [MessageDelta(reasoning="hm\u2028"), MessageDelta(content="fine")]


def stopped_early(server: Loopback, stop: Callable[[Any], Any], **options: Any) -> Any:
    """What the engine is asked to abort when a stream ends like that."""

    async def use(engine: SglangEngine) -> None:
        await streamed(engine)
        server.answers[CHAT] = slowly()
        await stop(engine.stream(request(request_id="r-stopped")))

    run(server, use, **options)
    return server.wait_for("/abort_request").body


async def close(stream: Any) -> None:
    await anext(stream)
    await stream.aclose()


async def cancel(stream: Any) -> None:
    await anext(stream)
    waiting = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0.05)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def wait(stream: Any) -> None:
    with pytest.raises(EngineTimeout):
        [piece async for piece in stream]


@pytest.mark.parametrize(("stop", "options"), [(close, {}), (cancel, {}), (wait, {"timeout_seconds": 0.4})])
def test_a_stream_that_nobody_reads_to_its_end_is_aborted_in_the_engine(stop: Any, options: Any) -> None:
    with loopback(answers(**{CHAT: GOOD})) as server:
        assert stopped_early(server, stop, **options) == {"rid": "r-stopped"}


def test_the_prompt_that_the_engine_says_it_read_must_be_the_one_it_was_sent() -> None:
    asked = request(options={"return_prompt_token_ids": True})
    told = {**IDS_CHUNK, "sglext": {"output_ids": [IDS], "input_ids": PROMPT}}
    other = {**IDS_CHUNK, "sglext": {"output_ids": [IDS], "input_ids": [1, 2]}}
    with loopback(answers(**{CHAT: body(*SAID, told, USAGE)})) as server:
        assert twice(server, asked)[-1].engine_prompt_ids.tolist() == PROMPT
        server.answers[CHAT] = body(*SAID, other, USAGE)
        with pytest.raises(EngineBrokeProtocol, match="another prompt"):
            twice(server, asked)


@pytest.mark.regression("R36")
@pytest.mark.parametrize("stream", [False, True])
def test_replay_data_is_asked_for_and_decoded(stream: bool) -> None:
    outputs = ReplayOutputs(kinds=frozenset({ReplayKind.ROUTED_EXPERTS}), layers=2)
    asked = request(replay=ReplayRequest(outputs=outputs, start=3))
    reply = json.loads(json.dumps(REPLY))
    reply["choices"][0]["meta_info"]["routed_experts"] = "AQAAAAIAAAA="
    told = {**IDS_CHUNK, "sglext": {"output_ids": [IDS], "routed_experts": "AQAAAAIAAAA="}}
    answer = body(*SAID, told, USAGE) if stream else Answer(reply)
    with loopback(answers(**{CHAT: answer})) as server:
        if stream:
            completion = twice(server, asked)[-1]
        else:
            completion = run(server, lambda engine: engine.generate(asked))
    sent, payload = server.to(CHAT)[-1].body, completion.replay[ReplayKind.ROUTED_EXPERTS]

    assert (sent["return_routed_experts"], sent["routed_experts_start_len"]) == (True, 3)
    assert (payload.data, payload.start, payload.layers) == (b"\1\0\0\0\2\0\0\0", 3, 2)
    assert "routed_experts" not in completion.metadata


def test_replay_data_that_is_not_base64_breaks_the_protocol() -> None:
    outputs = ReplayOutputs(kinds=frozenset({ReplayKind.ROUTED_EXPERTS}), layers=2)
    asked = request(replay=ReplayRequest(outputs=outputs, start=0))
    told = {**IDS_CHUNK, "sglext": {"output_ids": [IDS], "routed_experts": "A"}}
    with (
        loopback(answers(**{CHAT: body(*SAID, told, USAGE)})) as server,
        pytest.raises(EngineBrokeProtocol, match="base64"),
    ):
        twice(server, asked)


@pytest.mark.case("d15")
def test_an_engine_that_refuses_connections_for_a_moment_is_asked_again() -> None:
    with loopback(answers()) as server:

        async def use(engine: SglangEngine) -> Completion:
            await asyncio.to_thread(server.close)
            asking = asyncio.ensure_future(engine.generate(request()))
            await asyncio.sleep(0.5)
            server.open()
            return await asking

        completion = run(server, use)
    assert completion.ids.tolist() == REPLY["choices"][0]["response_token_ids"]
    assert len(server.to(CHAT)) == 1


@pytest.mark.case("d15")
@pytest.mark.hazard(10)
def test_a_request_that_may_have_arrived_is_never_sent_again() -> None:
    with loopback(answers(**{CHAT: Answer(drop=True)})) as server:
        with pytest.raises(EngineUnreachable):
            run(server, lambda engine: engine.generate(request()))
        assert len(server.to(CHAT)) == 1


@pytest.mark.case("d15")
def test_after_the_budget_the_engine_is_unreachable_and_the_time_is_told() -> None:
    with loopback(answers()) as server:

        async def use(engine: SglangEngine) -> None:
            await asyncio.to_thread(server.close)
            with pytest.raises(EngineUnreachable) as caught:
                await engine.generate(request())
            server.open()
            elapsed: Any = caught.value.details["elapsed_seconds"]
            assert 0.2 <= elapsed <= 0.5
            assert caught.value.http_status == 502

        run(server, use, connect_budget_seconds=0.5)


def test_the_context_length_is_what_the_engine_tells() -> None:
    async def context(engine: SglangEngine) -> int | None:
        return engine.context_length

    models = {"data": [{"id": "m", "max_model_len": 8192}]}
    with loopback(answers(**{"/v1/models": Answer(models)})) as server:
        assert run(server, context) == 8192
    for broken in (Answer(b"{"), Answer({"data": []}), Answer({}), Answer(status=404)):
        with loopback(answers(**{"/v1/models": broken})) as server:
            assert run(server, context) is None
