"""The server over real loopback sockets."""

from __future__ import annotations

import threading
from typing import Any

import httpx
import pytest

from titocli.errors import EngineAborted, EngineUnreachable
from titocli.session.history import HistoryPolicy

from .conftest import ScriptedEngine, plain_answer, running, serve_family

U = {"role": "user", "content": "What is 1+2?"}
FINE = {"role": "assistant", "content": "fine"}


def chat(client: httpx.Client, session: str, messages: Any, **more: Any) -> httpx.Response:
    return client.post(f"/sessions/{session}/v1/chat/completions", json={"messages": messages, **more})


def test_a_turn_comes_back_as_a_chat_completion(client: httpx.Client, session: str) -> None:
    reply = chat(client, session, [U])

    assert reply.status_code == 200
    body = reply.json()
    assert body["object"] == "chat.completion"
    assert body["choices"] == [{"index": 0, "message": FINE, "finish_reason": "stop", "logprobs": None}]
    prompt = body["usage"]["prompt_tokens"]
    assert body["usage"] == {
        "prompt_tokens": prompt,
        "completion_tokens": 5,
        "total_tokens": prompt + 5,
        "prompt_tokens_details": {"cached_tokens": 3},
    }


def test_the_engine_reads_the_stored_ids_and_what_was_appended(
    client: httpx.Client, session: str, engine: ScriptedEngine
) -> None:
    chat(client, session, [U])
    chat(client, session, [U, FINE, {"role": "user", "content": "go on"}], temperature=0.5, max_tokens=7)
    first, second = engine.requests
    stored = [*first.prompt_ids, *b"fine", 258]

    assert list(second.prompt_ids[: len(stored)]) == stored
    assert second.session_id == first.session_id == session
    assert second.options == {"temperature": 0.5, "max_tokens": 7}
    assert second.template_kwargs == {"clear_thinking": False}
    assert second.messages[1] == FINE


def test_log_probs_are_shown_when_asked_for(client: httpx.Client, session: str) -> None:
    content = chat(client, session, [U], logprobs=True).json()["choices"][0]["logprobs"]["content"]

    assert [entry["token"] for entry in content] == ["f", "i", "n", "e", "<|im_end|>"]
    assert content[1] == {"token": "i", "bytes": [105], "logprob": -0.5, "top_logprobs": []}


def test_a_session_shows_its_records_its_ids_and_its_tree(
    client: httpx.Client, session: str, engine: ScriptedEngine
) -> None:
    chat(client, session, [U])
    chat(client, session, [U, FINE, {"role": "user", "content": "go on"}])
    shown = client.get(f"/sessions/{session}").json()
    metadata = shown["metadata"]

    assert [record["request"]["input_ids"] for record in shown["records"]] == [
        list(request.prompt_ids) for request in engine.requests
    ]
    assert shown["records"][1]["request"]["messages"][:2] == [U, FINE]
    assert shown["records"][0]["response"]["output_ids"] == [*b"fine", 258]
    assert metadata["accumulated_token_ids"] == [*engine.requests[1].prompt_ids, *b"fine", 258]
    assert metadata["max_trim_tokens"] == 0
    first, second = metadata["tree"]["nodes"]
    assert (second["parent"], second["reused_tokens"]) == (0, first["num_tokens"])
    assert first["new_tokens"] == len(engine.requests[0].prompt_ids)
    assert metadata["tree"]["leaves"] == [{"node_id": 1, "path_node_ids": [0, 1]}]


def test_mismatches_are_computed_and_soft_when_only_the_spelling_differs(
    client: httpx.Client, session: str
) -> None:
    chat(client, session, [U])
    mismatches = client.get(f"/sessions/{session}").json()["metadata"]["tito_session_mismatch"]

    # The model wrote no think block; the canonical render has one.
    assert [mismatch["type"] for mismatch in mismatches] == ["assistant_text"]


def test_samples_are_the_ids_of_each_leaf(client: httpx.Client, session: str, engine: ScriptedEngine) -> None:
    assert client.get(f"/sessions/{session}/samples").json()["empty_reason"] == "no_records"
    chat(client, session, [U])
    (sample,) = client.post(f"/sessions/{session}/samples?format=json").json()["samples"]

    assert sample["tokens"] == [*engine.requests[0].prompt_ids, *b"fine", 258]
    assert sample["response_length"] == 5
    assert sample["loss_mask"] == [1] * 5
    assert sample["rollout_log_probs"] == [-0.25, -0.5, -0.75, -1.0, -1.25]
    assert sample["status"] == "completed"


def test_an_engine_error_leaves_the_session_as_it_was(
    client: httpx.Client, session: str, engine: ScriptedEngine
) -> None:
    chat(client, session, [U])
    before = client.get(f"/sessions/{session}").json()
    for error, status in ((EngineUnreachable("gone"), 502), (EngineAborted("cut"), 503)):
        engine.error = error
        refused = chat(client, session, [U])

        assert refused.status_code == status
        assert refused.json()["error"]["code"] == error.code
        assert refused.json()["error"]["type"] == "server_error"
    assert client.get(f"/sessions/{session}").json() == before


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"messages": [U], "stream": "yes"}, "unsupported_request"),
        ({"messages": [U], "n": 2}, "unsupported_request"),
        ({"messages": [U], "input_ids": [1]}, "unsupported_request"),
        ({"messages": [U], "chat_template_kwargs": "x"}, "unsupported_request"),
        ({"messages": [U], "chat_template_kwargs": {"tools": []}}, "unsupported_request"),
        ({"messages": [U], "chat_template_kwargs": {"clear_thinking": True}}, "conflicting_kwarg"),
        ({"messages": [U], "reasoning_effort": "low"}, "unsupported_request"),
        ({"messages": [U], "reasoning_effort": 5}, "unsupported_request"),
        ({"messages": [U], "tools": "x"}, "invalid_tools"),
        ({}, "invalid_messages"),
        ({"messages": []}, "invalid_messages"),
        ({"messages": "hello"}, "invalid_messages"),
        ({"messages": [{"role": "robot", "content": ""}]}, "invalid_messages"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "unsupported_request"),
    ],
)
def test_what_cannot_be_honoured_is_refused_before_the_engine_runs(
    client: httpx.Client, session: str, engine: ScriptedEngine, body: Any, code: str
) -> None:
    refused = client.post(f"/sessions/{session}/v1/chat/completions", json=body)

    assert (refused.status_code, refused.json()["error"]["code"]) == (400, code)
    assert refused.json()["error"]["type"] == "invalid_request_error"
    assert engine.requests == []


@pytest.mark.parametrize("body", [b"{", b"[1]", b'"x"', b"\xff", b"[" * 100_000, b'{"messages": NaN}'])
def test_a_body_that_is_no_json_object_is_refused(client: httpx.Client, session: str, body: bytes) -> None:
    refused = client.post(f"/sessions/{session}/v1/chat/completions", content=body)

    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_json")


def test_deep_nesting_is_refused_and_not_a_crash(client: httpx.Client, session: str) -> None:
    for depth in (900, 5000):
        content = '{"a":' * depth + "1" + "}" * depth
        body = '{"messages": [{"role": "user", "content": "x", "tool_calls": [' + content + "]}]}"
        refused = client.post(f"/sessions/{session}/v1/chat/completions", content=body.encode())

        assert refused.status_code == 400


def test_an_unknown_session_and_a_deleted_one_are_told_apart(client: httpx.Client, session: str) -> None:
    chat(client, session, [U])
    assert client.delete(f"/sessions/{session}").status_code == 204
    gone = chat(client, session, [U])
    unknown = chat(client, "nope", [U])

    assert (gone.status_code, gone.json()["error"]["code"]) == (410, "session_deleted")
    assert gone.headers["x-should-retry"] == "false"
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "session_not_found")
    assert client.delete(f"/sessions/{session}").status_code == 410
    assert client.get("/sessions/nope/samples").status_code == 404


def test_a_session_deleted_during_a_generation_is_told_to_the_client(
    client: httpx.Client, session: str, engine: ScriptedEngine
) -> None:
    engine.release = threading.Event()
    answers: list[httpx.Response] = []
    late = threading.Thread(target=lambda: answers.append(chat(client, session, [U])))
    late.start()
    while not engine.requests:
        pass
    client.delete(f"/sessions/{session}")
    engine.release.set()
    late.join()

    assert answers[0].status_code == 410


def test_concurrent_turns_are_siblings_in_a_tree_and_one_of_them_is_refused_in_a_line(
    client: httpx.Client, session: str, engine: ScriptedEngine
) -> None:
    engine.release = threading.Event()
    answers: list[int] = []
    threads = [
        threading.Thread(target=lambda: answers.append(chat(client, session, [U]).status_code))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    while len(engine.requests) < len(threads):
        pass
    engine.release.set()
    for thread in threads:
        thread.join()
    metadata = client.get(f"/sessions/{session}").json()["metadata"]

    if metadata["history"] == "tree":
        assert sorted(answers) == [200, 200, 200]
        assert [node["parent"] for node in metadata["tree"]["nodes"]] == [None] * 3
    else:
        assert sorted(answers) == [200, 409, 409]
        assert len(metadata["tree"]["nodes"]) == 1


def test_a_length_limit_is_passed_on(client: httpx.Client, session: str, engine: ScriptedEngine) -> None:
    engine.answer = lambda request: plain_answer(request, finish="length")

    assert chat(client, session, [U]).json()["choices"][0]["finish_reason"] == "length"
    (sample,) = client.get(f"/sessions/{session}/samples").json()["samples"]
    assert sample["status"] == "truncated"


def test_health_says_what_is_served(client: httpx.Client, session: str) -> None:
    health = client.get("/health").json()

    assert health["status"] == "ok"
    assert (health["family"], health["message_matcher"], health["sessions"]) == ("qwen3", "strict", 1)
    assert health["engine"] == {"kind": "scripted", "model": "scripted-model"}


def test_a_created_session_names_its_base_url(client: httpx.Client) -> None:
    made = client.post("/sessions").json()

    assert made["base_url"] == f"{client.base_url}/sessions/{made['session_id']}".replace(
        "//sessions", "/sessions"
    )
    assert client.get(made["base_url"]).status_code == 200


def test_an_unknown_path_and_a_wrong_method_are_errors_in_the_same_shape(client: httpx.Client) -> None:
    unknown, wrong = client.get("/nothing"), client.put("/sessions")

    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "unknown_path")
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (405, "method_not_allowed")


def test_a_family_that_cannot_append_a_system_message_says_so(engine: ScriptedEngine) -> None:
    server = serve_family(engine, "qwen4exp", HistoryPolicy.TREE)
    with running(server) as url, httpx.Client(base_url=url) as client:
        session = client.post("/sessions").json()["session_id"]
        chat(client, session, [U])
        refused = chat(client, session, [U, FINE, {"role": "system", "content": "x"}])
        pinned = chat(client, session, [U, FINE, U], reasoning_effort="low")

    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "role_not_appendable")
    assert (pinned.status_code, pinned.json()["error"]["code"]) == (400, "pinned_kwarg")
    assert len(engine.requests) == 1


def test_the_official_openai_client_drives_a_session(client: httpx.Client, engine: ScriptedEngine) -> None:
    import openai

    base = client.post("/sessions").json()["base_url"]
    with openai.OpenAI(base_url=f"{base}/v1", api_key="none") as official:
        messages: list[Any] = [U]
        for number in range(3):
            reply = official.chat.completions.create(model="any", messages=messages)
            messages += [reply.choices[0].message.model_dump(), {"role": "user", "content": f"and {number}"}]
        with pytest.raises(openai.BadRequestError) as refused:
            official.chat.completions.create(model="any", messages=messages, n=2)
    nodes = client.get(base).json()["metadata"]["tree"]["nodes"]

    assert [node["parent"] for node in nodes] == [None, 0, 1]
    assert refused.value.code == "unsupported_request"
    assert len(engine.requests) == 3
