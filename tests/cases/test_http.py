"""Reported cases over HTTP, a28, a32, a33 and b18: for what a server makes of a request's body."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from tests.server.conftest import ScriptedEngine, plain_answer, running, serve_family
from tests.session.conftest import renderer_of
from titocli.jsonvalue import Message
from titocli.session.generation import Completion, FinishReason, GenerateRequest
from titocli.session.history import HistoryPolicy

#: A conversation with spelled numbers in arguments given as an object, and in the schema of a tool.
BODY = """{"messages": [{"role": "user", "content": "u\\ud83d"}, {"role": "assistant", "content": "",
 "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": {"n": [1e5, 1.10, -0]}}}]},
 {"role": "tool", "tool_call_id": "c", "content": "r"}],
 "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "maximum": 2.50}}}],
 "temperature": 0.70}"""


@pytest.fixture(params=["qwen3", "glm47", "deepseekv4"])
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine()


@pytest.fixture
def chat(family: str, engine: ScriptedEngine) -> Iterator[httpx.Client]:
    server = serve_family(engine, family, HistoryPolicy.TREE)
    with running(server) as url, httpx.Client(base_url=url, timeout=30) as http:
        session_id = http.post("/sessions").json()["session_id"]
        with httpx.Client(base_url=f"{url}/sessions/{session_id}", timeout=30) as own:
            yield own


def test_a33_numbers_reach_the_prompt_as_they_were_spelled(
    chat: httpx.Client, engine: ScriptedEngine, family: str
) -> None:
    reply = chat.post("/v1/chat/completions", content=BODY.encode("utf-8", "surrogatepass"))
    assert reply.status_code == 200, reply.text
    asked = engine.requests[0]
    prompt = renderer_of(family).tokenizer.decode(asked.prompt_ids)

    assert "1e5" in prompt
    assert "1.10, -0]" in prompt
    assert '"maximum": 2.50' in prompt
    assert asked.options["temperature"] == 0.7
    assert type(asked.options["temperature"]) is float


def test_a33_the_record_and_a_second_turn_take_the_same_numbers(
    chat: httpx.Client, engine: ScriptedEngine
) -> None:
    assert chat.post("/v1/chat/completions", content=BODY).status_code == 200
    further = BODY.replace(
        '"r"}]', '"r"}, {"role": "assistant", "content": "fine"}, {"role": "user", "content": "v"}]'
    )
    second = chat.post("/v1/chat/completions", content=further)
    first, last = engine.requests

    assert second.status_code == 200, second.text
    assert last.prompt_ids[: len(first.prompt_ids)] == first.prompt_ids
    shown = chat.get("", follow_redirects=True)
    assert len(shown.json()["records"]) == 2
    assert "100000.0,1.1," in shown.text


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_a33_a_word_that_is_no_number_is_refused(
    chat: httpx.Client, engine: ScriptedEngine, word: str
) -> None:
    reply = chat.post("/v1/chat/completions", content=BODY.replace("1e5", word))

    assert reply.status_code == 400
    assert reply.json()["error"]["code"] == "invalid_json"
    assert f"{word} is no number of JSON" in reply.json()["error"]["message"]
    assert engine.requests == []


def test_a32_a_lone_surrogate_is_the_replacement_character(
    chat: httpx.Client, engine: ScriptedEngine, family: str
) -> None:
    body = BODY.encode("utf-8", "surrogatepass")
    assert chat.post("/v1/chat/completions", content=body).status_code == 200

    assert "u\ufffd" in renderer_of(family).tokenizer.decode(engine.requests[0].prompt_ids)


#: What Anthropic's clients take for the id of a call.
LEGAL_ID = re.compile(r"[a-zA-Z0-9_-]+")


def two_calls(request: GenerateRequest) -> Completion:
    """Two calls whose ids are one when what is illegal in them is replaced."""
    ids = ("functions.get:0", "functions_get_0")
    function = {"name": "get", "arguments": '{"n": 1.10}'}
    calls: Any = [{"id": each, "type": "function", "function": function} for each in ids]
    message: Message = {"role": "assistant", "content": "", "tool_calls": calls}
    return replace(plain_answer(request), message=message, finish_reason=FinishReason.TOOL_CALLS)


@pytest.mark.parametrize("family", ["kimi25", "kimi26"], indirect=True)
def test_b18_ids_that_anthropics_wire_does_not_take_come_back_as_the_models(
    chat: httpx.Client, engine: ScriptedEngine, family: str
) -> None:
    engine.answer = two_calls
    tool = {"name": "get", "input_schema": {"type": "object", "properties": {}}}
    body: Any = {
        "model": "m",
        "max_tokens": 9,
        "tools": [tool],
        "messages": [{"role": "user", "content": "u"}],
    }
    first = chat.post("/v1/messages", json=body)
    assert first.status_code == 200, first.text
    used = [block for block in first.json()["content"] if block["type"] == "tool_use"]
    given = [block["id"] for block in used]
    results = [{"type": "tool_result", "tool_use_id": each, "content": f"for {each}"} for each in given]
    echo = [{"role": "assistant", "content": used}, {"role": "user", "content": results}]
    second = chat.post("/v1/messages", json={**body, "messages": [*body["messages"], *echo]})
    prompt = renderer_of(family).tokenizer.decode(engine.requests[1].prompt_ids)

    assert second.status_code == 200, second.text
    assert all(LEGAL_ID.fullmatch(each) for each in given)
    assert len(set(given)) == 2
    assert f"## Return of functions.get:0\nfor {given[0]}" in prompt
    assert f"## Return of functions_get_0\nfor {given[1]}" in prompt
    assert (
        engine.requests[1].prompt_ids[: len(engine.requests[0].prompt_ids)] == engine.requests[0].prompt_ids
    )


@pytest.mark.parametrize("family", ["inkling"], indirect=True)
@pytest.mark.parametrize("effort", [0.5, "0.5"])
def test_a28_an_effort_may_be_a_number_in_a_request(
    chat: httpx.Client, engine: ScriptedEngine, family: str, effort: float | str
) -> None:
    body = {"messages": [{"role": "user", "content": "u"}], "reasoning_effort": effort}
    assert chat.post("/v1/chat/completions", json=body).status_code == 200

    prompt = renderer_of(family).tokenizer.decode(engine.requests[0].prompt_ids)
    assert "Thinking effort level: 0.5<|end_message|>" in prompt
