"""The Anthropic routes over real loopback sockets, mostly through the official client."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import anthropic
import httpx
import pytest

from tests.server.conftest import ScriptedEngine, plain_answer, running
from tests.session.conftest import renderer_of
from titocli.engine.pieces import replayed
from titocli.engine.replay import ReplayEngine, ReplayLine
from titocli.errors import EngineAborted, EngineUnreachable
from titocli.server.auth import ApiKey
from titocli.server.state import SessionServer
from titocli.session.generation import Completion, FinishReason, GenerateRequest, MessageDelta
from titocli.session.history import HistoryPolicy

U = {"role": "user", "content": "What is 1+2?"}
TOOL: Any = {"name": "f", "description": "d", "input_schema": {"type": "object"}}
OPENAI_TOOL = {
    "type": "function",
    "function": {"name": "f", "description": "d", "parameters": {"type": "object"}},
}


@dataclass
class PieceEngine(ScriptedEngine):
    """Streams its answer in pieces; the error comes after ``pieces_before_error`` of them."""

    pieces_before_error: int = 0

    async def stream(self, request: GenerateRequest) -> AsyncGenerator[MessageDelta | Completion, None]:
        error, self.error = self.error, None
        try:
            completion = await self.generate(request)
        finally:
            self.error = error
        for number, piece in enumerate(replayed(completion)):
            if error is not None and number >= self.pieces_before_error:
                raise error
            yield piece


def answer(request: GenerateRequest, **message: Any) -> Completion:
    """A completion whose message is ``message``."""
    done = plain_answer(request)
    calls = bool(message.get("tool_calls"))
    return replace(
        done,
        finish_reason=FinishReason.TOOL_CALLS if calls else FinishReason.STOP,
        message={"role": "assistant", "content": "", **message},
    )


def calling(request: GenerateRequest, *texts: str, call_id: str = "call_{}_{}", **more: Any) -> Completion:
    turn = len(request.messages)
    calls = [
        {
            "id": call_id.format(turn, at),
            "type": "function",
            "function": {"name": "f", "arguments": text},
        }
        for at, text in enumerate(texts)
    ]
    return answer(request, tool_calls=calls, **more)


@dataclass
class Served:
    """A server with one session."""

    engine: PieceEngine
    http: httpx.Client
    base: str
    client: anthropic.Anthropic

    def post(self, body: Any, *, path: str = "/v1/messages", **more: Any) -> httpx.Response:
        return self.http.post(f"{self.base}{path}", json=body, **more)

    def chat(self, messages: Any, **more: Any) -> Any:
        reply = self.http.post(f"{self.base}/v1/chat/completions", json={"messages": messages, **more})
        assert reply.status_code == 200, reply.text
        return reply.json()["choices"][0]["message"]

    def parents(self) -> list[int | None]:
        return [node["parent"] for node in self.http.get(self.base).json()["metadata"]["tree"]["nodes"]]


def official(base: str) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=base, api_key="none", max_retries=0)


@contextmanager
def serving(family: str = "qwen3", **more: Any) -> Iterator[Served]:
    engine = PieceEngine()
    server = SessionServer(renderer=renderer_of(family), engine=engine, **more)
    headers = {"x-api-key": "secret"} if server.api_key else {}
    with running(server) as url, httpx.Client(base_url=url, timeout=30, headers=headers) as http:
        base = http.post("/sessions").json()["base_url"]
        with official(base) as client:
            yield Served(engine, http, base, client)


@pytest.fixture(params=list(HistoryPolicy))
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    with serving(policy=request.param) as made:
        yield made


@pytest.fixture
def tree() -> Iterator[Served]:
    with serving() as made:
        yield made


def until(done: Callable[[], object]) -> None:
    deadline = time.monotonic() + 10
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def body(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 64, "messages": list(messages) or [U], **more}


def said(reply: anthropic.types.Message) -> dict[str, Any]:
    """The reply as a client's history has it."""
    return {"role": "assistant", "content": [block.model_dump() for block in reply.content]}


def results(reply: anthropic.types.Message, text: str = "r") -> dict[str, Any]:
    blocks = [
        {"type": "tool_result", "tool_use_id": block.id, "content": text}
        for block in reply.content
        if block.type == "tool_use"
    ]
    return {"role": "user", "content": [*blocks, {"type": "text", "text": "go on"}]}


def test_a_turn_comes_back_as_a_message(served: Served) -> None:
    reply = served.post(body(system="Be brief."))
    (request,) = served.engine.requests

    assert reply.status_code == 200
    assert reply.headers["request-id"].startswith("req_")
    told = reply.json()
    assert told == {
        "id": told["id"],
        "type": "message",
        "role": "assistant",
        "model": "scripted-model",
        "content": [{"type": "text", "text": "fine"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": len(request.prompt_ids) - 3,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 3,
            "output_tokens": 5,
        },
    }
    assert list(request.messages) == [{"role": "system", "content": "Be brief."}, U]
    assert request.options == {"max_tokens": 64}


TEXTS = ['{"b": 1.0,"a":[1e2, "é"]}', "", '{"a":1, "a":2}', "[1]", '{"a":']


@pytest.mark.parametrize("stream", [False, True])
def test_the_official_client_replays_and_stays_on_one_path(served: Served, stream: bool) -> None:
    served.engine.answer = lambda request: (
        calling(request, *TEXTS, content="\n\n", reasoning_content="hm\n", call_id="functions.f:{}{}")
        if len(served.engine.requests) % 2
        else answer(request, content="\nfine", reasoning_content="so")
    )
    messages: list[Any] = [U]
    for _ in range(4):
        reply = create(served.client, stream, messages=messages)
        messages += [said(reply), results(reply)]

    assert served.parents() == [None, 0, 1, 2]
    assert list(served.engine.requests[3].prompt_ids[: len(served.engine.requests[2].prompt_ids)]) == list(
        served.engine.requests[2].prompt_ids
    )
    stored = served.engine.requests[3].messages
    assert [call["function"]["arguments"] for call in stored[1]["tool_calls"]] == TEXTS  # type: ignore[index,union-attr,call-overload] # JSON
    assert [message["tool_call_id"] for message in stored[2:7]] == [f"functions.f:1{at}" for at in range(5)]


def create(client: anthropic.Anthropic, stream: bool, **asked: Any) -> anthropic.types.Message:
    asked = {"model": "m", "max_tokens": 64, "tools": [TOOL], **asked}
    if not stream:
        reply: anthropic.types.Message = client.messages.create(**asked)
        return reply
    with client.messages.stream(**asked) as events:
        return events.get_final_message()


def test_the_asynchronous_client_does_the_same(served: Served) -> None:
    served.engine.answer = lambda request: calling(request, '{"b":1,"a":2}', reasoning_content="hm")

    async def drive() -> None:
        async with anthropic.AsyncAnthropic(base_url=served.base, api_key="none", max_retries=0) as client:
            messages: list[Any] = [U]
            for number in range(4):
                asked: Any = {"model": "m", "max_tokens": 64, "tools": [TOOL], "messages": messages}
                if number % 2:
                    async with client.messages.stream(**asked) as events:
                        reply = await events.get_final_message()
                else:
                    reply = await client.messages.create(**asked)
                messages += [said(reply), results(reply)]

    asyncio.run(drive())

    assert served.parents() == [None, 0, 1, 2]


def test_a_stream_says_what_the_whole_reply_says(tree: Served) -> None:
    tree.engine.answer = lambda request: calling(request, '{"a": 1}', content="text", reasoning_content="hm")
    whole, streamed = (create(tree.client, stream, messages=[U]) for stream in (False, True))

    assert [block.to_dict(exclude_none=True) for block in streamed.content] == [
        block.to_dict(exclude_none=True) for block in whole.content
    ]
    assert (streamed.stop_reason, streamed.usage.output_tokens) == (
        whole.stop_reason,
        whole.usage.output_tokens,
    )
    assert streamed.usage.input_tokens == whole.usage.input_tokens


def events_of(response: httpx.Response) -> list[tuple[str, Any]]:
    events = []
    for block in response.text.split("\n\n")[:-1]:
        name, data = block.split("\n")
        events.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    assert all(name == data["type"] for name, data in events)
    return events


@pytest.mark.regression("R25")
def test_events_come_in_the_order_that_clients_put_together(tree: Served) -> None:
    tree.engine.answer = lambda request: calling(request, "{}", content="text", reasoning_content="hm")
    response = tree.post(body(stream=True))
    events = events_of(response)

    assert response.headers["content-type"].startswith("text/event-stream")
    assert [(name, data.get("index"), data.get("delta", {}).get("type")) for name, data in events] == [
        ("message_start", None, None),
        ("content_block_start", 0, None),
        ("content_block_delta", 0, "thinking_delta"),
        ("content_block_delta", 0, "signature_delta"),
        ("content_block_stop", 0, None),
        ("content_block_start", 1, None),
        ("content_block_delta", 1, "text_delta"),
        ("content_block_stop", 1, None),
        ("content_block_start", 2, None),
        ("content_block_delta", 2, "input_json_delta"),
        ("content_block_stop", 2, None),
        ("message_delta", None, None),
        ("message_stop", None, None),
    ]
    start = events[0][1]["message"]
    assert start["usage"]["input_tokens"] == len(tree.engine.requests[0].prompt_ids)
    assert (start["content"], start["stop_reason"]) == ([], None)
    assert events[-2][1]["delta"] == {"stop_reason": "tool_use", "stop_sequence": None}


def test_the_id_of_a_stream_is_the_id_that_the_tree_knows(tree: Served) -> None:
    tree.engine.answer = lambda request: replace(answer(request, content="x"), response_id=request.request_id)
    start = events_of(tree.post(body(stream=True)))[0][1]
    (node,) = tree.http.get(tree.base).json()["metadata"]["tree"]["nodes"]

    assert start["message"]["id"] == node["response_id"]


@pytest.mark.case("c06")
@pytest.mark.parametrize("stream", [False, True])
def test_a_stop_sequence_is_named(tree: Served, stream: bool) -> None:
    tree.engine.answer = lambda request: replace(answer(request, content="x"), matched_stop="##")
    reply = create(tree.client, stream, messages=[U], stop_sequences=["##"])

    assert (reply.stop_reason, reply.stop_sequence) == ("stop_sequence", "##")
    assert tree.engine.requests[0].options["stop"] == ["##"]


@pytest.mark.case("c06")
def test_a_length_limit_is_max_tokens(tree: Served) -> None:
    tree.engine.answer = lambda request: plain_answer(request, finish="length")

    assert create(tree.client, stream=False, messages=[U]).stop_reason == "max_tokens"


@pytest.mark.regression("R25")
def test_a_message_that_cannot_be_expressed_is_not_kept(served: Served) -> None:
    served.engine.answer = lambda request: answer(request, tool_calls=[{"id": "a", "function": {"name": ""}}])
    refused = served.post(body())

    assert (refused.status_code, refused.json()["error"]["type"]) == (502, "api_error")
    assert served.parents() == []


@pytest.mark.regression("R19")
def test_arguments_that_are_no_object_end_nothing(tree: Served) -> None:
    tree.engine.answer = lambda request: calling(request, '{"a":')
    reply = create(tree.client, stream=False, messages=[U])
    create(tree.client, stream=True, messages=[U, said(reply), results(reply)])

    assert reply.content[0].input == {"arguments": '{"a":'}  # type: ignore[union-attr] # a tool use
    assert tree.parents() == [None, 0]


@pytest.mark.regression("R25")
def test_both_formats_go_on_with_one_history(served: Served) -> None:
    served.engine.answer = lambda request: calling(request, '{"b":1,  "a": 2}', reasoning_content="hm")
    first = served.chat([U], tools=[OPENAI_TOOL])
    call = first["tool_calls"][0]
    use = {"type": "tool_use", "id": call["id"], "name": "f", "input": {"a": 2, "b": 1}}
    thought = {"type": "thinking", "thinking": "hm", "signature": ""}
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": "r"}
    second = create(
        served.client,
        stream=False,
        messages=[U, {"role": "assistant", "content": [thought, use]}, {"role": "user", "content": [result]}],
    )
    (_, made) = second.content
    assert made.type == "tool_use"
    sent = [U, first, {"role": "tool", "tool_call_id": call["id"], "content": "r"}]
    other = {"id": made.id, "type": "function", "function": {"name": "f", "arguments": '{"b":1,  "a": 2}'}}
    served.chat(
        [
            *sent,
            {"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": [other]},
            {"role": "tool", "tool_call_id": made.id, "content": "s"},
        ]
    )

    assert served.parents() == [None, 0, 1]


def test_calls_from_elsewhere_are_stored_as_text_that_openais_format_can_replay(tree: Served) -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"b": 1, "a": "é"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "r"}
    tree.post(body(U, {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}))
    call = {
        "id": "toolu_1",
        "type": "function",
        "function": {"name": "f", "arguments": '{"b": 1, "a": "é"}'},
    }
    history = [
        U,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "toolu_1", "content": "r"},
        {"role": "assistant", "content": "fine"},
        {"role": "user", "content": "go on"},
    ]
    tree.chat(history)

    assert tree.parents() == [None, 0]


def prompt_of(served: Served, *messages: Any, **more: Any) -> list[int]:
    """The prompt of a turn in a fresh session."""
    base = served.http.post("/sessions").json()["base_url"]
    reply = served.http.post(f"{base}/v1/messages", json=body(*messages, **more))
    assert reply.status_code == 200, reply.text
    return list(served.engine.requests[-1].prompt_ids)


@pytest.mark.case("c09")
def test_marks_of_caching_move_without_a_trace(tree: Served) -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    plain = prompt_of(tree, system="s", tools=[TOOL])
    marked = prompt_of(
        tree,
        {"role": "user", "content": [{"type": "text", "text": U["content"], **mark}]},
        system=[{"type": "text", "text": "s", **mark}],
        tools=[{**TOOL, **mark}],
        metadata={"user_id": "x"},
        context_management={"edits": []},
    )
    first = tree.post(body({"role": "user", "content": [{"type": "text", "text": "u", **mark}]})).json()
    tree.post(
        body(
            {"role": "user", "content": "u"},
            {"role": "assistant", "content": [{**first["content"][0], **mark}]},
            {"role": "user", "content": [{"type": "text", "text": "v", **mark}]},
        )
    )

    assert marked == plain
    assert tree.parents() == [None, 0]


@pytest.mark.case("c07")
@pytest.mark.parametrize("kind", ["auto", "any", "none"])
def test_a_tool_choice_does_not_change_the_prompt(tree: Served, kind: str) -> None:
    assert prompt_of(tree, tools=[TOOL], tool_choice={"type": kind}) == prompt_of(tree, tools=[TOOL])


@pytest.mark.case("c20")
def test_two_calls_come_back_where_one_was_wished_for_and_the_path_goes_on(tree: Served) -> None:
    tree.engine.answer = lambda request: calling(request, "{}", '{"x": 1}')
    choice: Any = {"type": "auto", "disable_parallel_tool_use": True}
    reply = create(tree.client, stream=False, messages=[U], tool_choice=choice)
    one_answered = {**results(reply), "content": results(reply)["content"][1:]}
    create(tree.client, stream=False, messages=[U, said(reply), one_answered])

    assert tree.engine.requests[0].options["parallel_tool_calls"] is False
    assert [block.type for block in reply.content] == ["tool_use", "tool_use"]
    assert tree.parents() == [None, 0]


@pytest.mark.case("c24")
def test_a_system_text_that_becomes_a_list_of_one_block_is_the_same_session(tree: Served) -> None:
    first = tree.post(body(system="s")).json()
    tree.post(
        body(U, {"role": "assistant", "content": first["content"]}, U, system=[{"type": "text", "text": "s"}])
    )

    assert tree.parents() == [None, 0]


@pytest.mark.case("c25")
def test_text_beside_a_result_is_a_user_turn_of_its_own_in_the_prompt(tree: Served) -> None:
    tree.engine.answer = lambda request: calling(request, "{}")
    reply = create(tree.client, stream=False, messages=[U])
    texts = [{"type": "text", "text": f"KEEP-{number}"} for number in (1, 2)]
    result = {"type": "tool_result", "tool_use_id": reply.content[0].id, "content": "RESULT"}  # type: ignore[union-attr] # a tool use
    create(
        tree.client, stream=False, messages=[U, said(reply), {"role": "user", "content": [*texts, result]}]
    )
    prompt = renderer_of("qwen3").tokenizer.decode(tree.engine.requests[1].prompt_ids)

    assert prompt.endswith(
        "<|im_start|>user\n<tool_response>\nRESULT\n</tool_response><|im_end|>\n"
        "<|im_start|>user\nKEEP-1KEEP-2<|im_end|>\n<|im_start|>assistant\n"
    )


def test_what_a_coding_client_changes_on_every_request_does_not_rewrite_the_prefix(tree: Served) -> None:
    messages: list[Any] = [U]
    for number in range(3):
        system: Any = [
            {"type": "text", "text": f"x-anthropic-billing-header: cch={number};"},
            {"type": "text", "text": "You are a client."},
        ]
        reply = create(tree.client, stream=False, messages=messages, system=system)
        left = f"<total_tokens>{9 - number} tokens left</total_tokens>"
        messages += [said(reply), {"role": "system", "content": left}, U]
    prompt = renderer_of("qwen3").tokenizer.decode(tree.engine.requests[2].prompt_ids)

    assert tree.parents() == [None, 0, 1]
    assert "billing" not in prompt
    assert "total_tokens" not in prompt


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [(EngineUnreachable("gone"), 502, "api_error"), (EngineAborted("cut"), 529, "overloaded_error")],
)
def test_an_engine_that_fails_at_once_has_its_own_status_and_nothing_is_kept(
    served: Served, error: Any, status: int, kind: str, stream: bool
) -> None:
    served.engine.error = error
    refused = served.post(body(stream=stream))

    assert (refused.status_code, refused.headers["content-type"]) == (status, "application/json")
    assert refused.json()["error"]["type"] == kind
    assert refused.json()["request_id"] == refused.headers["request-id"]
    assert served.parents() == []


@pytest.mark.case("c13")
def test_an_engine_that_dies_in_the_middle_ends_the_stream_with_an_error(served: Served) -> None:
    served.engine.error, served.engine.pieces_before_error = EngineUnreachable("gone"), 1
    served.engine.answer = lambda request: answer(request, content="text", reasoning_content="hm")
    response = served.post(body(stream=True))
    names = [name for name, _ in events_of(response)]

    assert response.status_code == 200
    assert names[-1] == "error"
    assert "message_stop" not in names
    assert events_of(response)[-1][1]["error"]["type"] == "api_error"
    assert served.parents() == []
    with pytest.raises(anthropic.APIStatusError, match="gone"):
        create(served.client, stream=True, messages=[U])


@pytest.mark.case("c14")
def test_a_client_that_waits_is_told_that_the_message_goes_on() -> None:
    with serving(keep_alive_seconds=0.05) as served:
        served.engine.release = threading.Event()
        with served.http.stream("POST", f"{served.base}/v1/messages", json=body(stream=True)) as response:
            lines = response.iter_lines()
            seen = [next(lines) for _ in range(6)]
            served.engine.release.set()
            rest = list(lines)

    assert next(line for line in seen if line.startswith("event")) == "event: message_start"
    assert "event: ping" in seen
    assert rest[-3:] == ["event: message_stop", 'data: {"type":"message_stop"}', ""]


def test_the_official_client_leaves_pings_out() -> None:
    with serving(keep_alive_seconds=0.05) as served:
        served.engine.release = threading.Event()
        threading.Timer(0.4, served.engine.release.set).start()

        assert create(served.client, stream=True, messages=[U]).content[0].text == "fine"  # type: ignore[union-attr] # a text block


def test_a_client_that_goes_away_ends_the_generation() -> None:
    with serving(keep_alive_seconds=0.05) as served:
        served.engine.release = threading.Event()
        with served.http.stream("POST", f"{served.base}/v1/messages", json=body(stream=True)) as response:
            next(response.iter_lines())

        until(lambda: served.engine.cancelled)
        served.engine.release.set()
        assert served.parents() == []


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_that_is_repeated_under_one_key_is_answered_once(tree: Served, stream: bool) -> None:
    headers = {"idempotency-key": "k1"}
    first, second = (tree.post(body(stream=stream), headers=headers) for _ in range(2))

    assert first.content == second.content
    assert tree.parents() == [None]
    assert tree.post(body(stream=stream, max_tokens=5), headers=headers).status_code == 409
    chat = tree.post({"messages": [U]}, path="/v1/chat/completions", headers=headers)
    assert chat.status_code == 409


def test_tokens_are_counted_without_a_trace(served: Served) -> None:
    asked: Any = {"system": "s", "tools": [TOOL], "messages": [U]}
    counted = served.client.messages.count_tokens(model="m", **asked)
    assert (served.engine.requests, served.parents()) == ([], [])
    reply = served.client.messages.create(model="m", max_tokens=5, **asked)
    history = [U, said(reply), {"role": "user", "content": "go on"}]
    later = served.client.messages.count_tokens(model="m", **{**asked, "messages": history})
    served.client.messages.create(model="m", max_tokens=5, **{**asked, "messages": history})

    assert counted.input_tokens == len(served.engine.requests[0].prompt_ids)
    assert later.input_tokens == len(served.engine.requests[1].prompt_ids)


def test_counting_refuses_what_a_turn_would(tree: Served) -> None:
    refused = tree.post({"messages": [{"role": "robot"}]}, path="/v1/messages/count_tokens")

    assert (refused.status_code, refused.json()["error"]["type"]) == (400, "invalid_request_error")
    gone = tree.http.post("/sessions/nope/v1/messages/count_tokens", json=body())
    assert (gone.status_code, gone.json()["error"]["type"]) == (404, "not_found_error")


@pytest.mark.case("c12")
@pytest.mark.parametrize(
    "raw",
    [b'{"messages": [}', b"[1]", b"\xff", b"", b"[" * 100_000, b'{"max_tokens": NaN}', b'{"messages": "x"}'],
)
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens"])
def test_a_body_that_cannot_be_read_is_an_error_in_anthropics_shape(
    tree: Served, path: str, raw: bytes
) -> None:
    refused = tree.http.post(f"{tree.base}{path}", content=raw)
    told = refused.json()

    assert (refused.status_code, refused.headers["content-type"]) == (400, "application/json")
    assert told["type"] == "error"
    assert told["error"]["type"] == "invalid_request_error"
    assert told["error"]["message"]
    assert told["request_id"] == refused.headers["request-id"]


def test_deep_nesting_is_refused_and_not_a_crash(tree: Served) -> None:
    for depth in (90, 900, 5000):
        deep = '{"a":' * depth + "1" + "}" * depth
        use = '{"type":"tool_use","id":"t","name":"f","input":' + deep + "}"
        raw = (
            '{"max_tokens":1,"messages":[{"role":"user","content":"u"},{"role":"assistant","content":['
            + use
            + ']},{"role":"user","content":"v"}]}'
        )
        assert tree.http.post(f"{tree.base}/v1/messages", content=raw.encode()).status_code in (200, 400)


@pytest.mark.regression("R25")
def test_an_unknown_session_and_a_deleted_one_are_not_found(tree: Served) -> None:
    unknown = tree.http.post("/sessions/nope/v1/messages", json=body())
    tree.http.delete(tree.base)
    gone = tree.post(body())

    assert (unknown.status_code, unknown.json()["error"]["type"]) == (404, "not_found_error")
    assert (gone.status_code, gone.json()["error"]["type"]) == (410, "not_found_error")
    assert gone.headers["x-should-retry"] == "false"
    nowhere = f"{tree.http.base_url}/sessions/nope"
    with official(nowhere) as client, pytest.raises(anthropic.NotFoundError):
        create(client, stream=False, messages=[U])


@pytest.mark.case("d10")
def test_a_body_over_the_limit_is_too_large() -> None:
    with serving(max_body_bytes=1000) as served:
        refused = served.post(body({"role": "user", "content": "x" * 2000}))

        assert (refused.status_code, refused.json()["error"]["type"]) == (413, "request_too_large")
        assert served.post(body()).status_code == 200


@pytest.mark.case("d13")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"x-api-key": "secret"}, 200),
        ({"authorization": "Bearer secret"}, 200),
        ({"authorization": "bearer secret"}, 200),
        ({"authorization": "Bearer wrong", "x-api-key": "secret"}, 200),
        ({"x-api-key": "wrong"}, 401),
        ({"x-api-key": ""}, 401),
    ],
)
def test_either_header_brings_the_key(headers: dict[str, str], status: int) -> None:
    with serving(api_key=ApiKey("secret")) as served:
        reply = httpx.post(f"{served.base}/v1/messages", json=body(), headers=headers)

    assert reply.status_code == status
    if status != 200:
        assert reply.json()["error"]["type"] == "authentication_error"


def test_a_wrong_method_is_an_error_in_anthropics_shape(tree: Served) -> None:
    refused = tree.http.get(f"{tree.base}/v1/messages")

    assert (refused.status_code, refused.json()["type"]) == (405, "error")


@pytest.mark.regression("R25")
@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "server tool 'web_search'"),
        ({"input_ids": [1]}, "input_ids is not accepted"),
        ({"thinking": {"type": "deep"}}, "thinking.type"),
        ({"messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]}, "'image'"),
    ],
)
def test_what_cannot_be_honoured_is_refused_before_the_engine_runs(
    tree: Served, more: Any, says: str
) -> None:
    refused = tree.post({**body(), **more})

    assert (refused.status_code, refused.json()["error"]["type"]) == (400, "invalid_request_error")
    assert says in refused.json()["error"]["message"]
    assert tree.engine.requests == []


@pytest.mark.parametrize(("family", "supported"), [("qwen3", True), ("qwen35", False), ("qwen4exp", False)])
def test_health_says_whether_a_later_system_message_stays_in_its_place(family: str, supported: bool) -> None:
    later = [U, {"role": "assistant", "content": "fine"}, {"role": "system", "content": "NOTE"}, U]
    with serving(family) as served:
        health = served.http.get("/health").json()
        served.post(body())
        reply = served.post(body(*later))

    assert health["anthropic_intermediate_system_supported"] is supported
    assert reply.status_code == (200 if supported else 400)
    if not supported:
        assert reply.json()["error"]["code"] == "role_not_appendable"
    else:
        assert served.engine.requests[1].messages[2] == {"role": "system", "content": "NOTE"}


def test_thinking_is_turned_off_for_a_turn(tree: Served) -> None:
    tree.post(body(thinking={"type": "disabled"}))

    assert tree.engine.requests[0].template_kwargs["enable_thinking"] is False


SCRIPTS = {
    "qwen3": (
        "<think>\nI have a tool.\n</think>\n\nLet me see.\n"
        '<tool_call>\n{"name": "f", "arguments": {"b": 1.0,  "a": [1e2, "é"]}}\n</tool_call>\n'
        '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    ),
    "kimi25": (
        "I have a tool.</think>Let me see.<|tool_calls_section_begin|>"
        '<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"b": 1.0,  "a": [1e2, "é"]}<|tool_call_end|>'
        "<|tool_call_begin|>functions.f:1<|tool_call_argument_begin|>{}<|tool_call_end|>"
        "<|tool_calls_section_end|>"
    ),
    "glm47": (
        "I have a tool.</think>Let me see.<tool_call>f<arg_key>b</arg_key><arg_value>1.0</arg_value>"
        '<arg_key>a</arg_key><arg_value>[1e2, "é"]</arg_value></tool_call><tool_call>f</tool_call>'
    ),
}


@pytest.mark.parametrize("policy", list(HistoryPolicy))
@pytest.mark.parametrize("family", list(SCRIPTS))
def test_a_model_that_calls_tools_is_replayed_by_the_official_client(
    family: str, policy: HistoryPolicy
) -> None:
    renderer = renderer_of(family)
    script = [ReplayLine(text=SCRIPTS[family])] * 3 + [ReplayLine(text="Done.")]
    engine = ReplayEngine(renderer.family, renderer.tokenizer, script)
    server = SessionServer(renderer=renderer, engine=engine, policy=policy)
    schema = {"type": "object", "properties": {"a": {"type": "array"}, "b": {"type": "number"}}}
    tools = [{**TOOL, "input_schema": schema}]
    with running(server) as url, httpx.Client(base_url=url, timeout=30) as http:
        base = http.post("/sessions").json()["base_url"]
        messages: list[Any] = [U]
        with official(base) as client:
            for number in range(4):
                reply = create(client, stream=bool(number % 2), messages=messages, tools=tools)
                messages += [said(reply), results(reply)]
        metadata = http.get(base).json()["metadata"]

    assert reply.stop_reason == "end_turn"
    for number in (1, 3, 5):
        thought, text, first, second = messages[number]["content"]
        assert (thought["thinking"], text["type"]) == ("I have a tool.", "text")
        assert (first["input"], second["input"]) == ({"b": 1.0, "a": [100, "é"]}, {})
    assert [node["parent"] for node in metadata["tree"]["nodes"]] == [None, 0, 1, 2]
    hard = [miss for miss in metadata["tito_session_mismatch"] if miss["type"] != "assistant_text"]
    assert hard == []


def test_the_beta_client_is_served_too(tree: Served) -> None:
    reply = tree.client.beta.messages.create(
        model="m", max_tokens=5, messages=[{"role": "user", "content": "u"}], betas=["context-1m-2025-08-07"]
    )

    assert reply.content[0].text == "fine"  # type: ignore[union-attr] # a text block
