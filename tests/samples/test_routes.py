"""Samples over real loopback sockets."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest

from tests.server.conftest import ScriptedEngine, plain_answer, running, serve_family
from titocli.server.sample_settings import SampleSettings
from titocli.session.generation import (
    Completion,
    GenerateRequest,
    ReplayKind,
    ReplayOutputs,
)
from titocli.session.history import HistoryPolicy
from titocli.session.samples.hooks import SampleHooks, sample_hooks
from titocli.session.samples.sample import Sample
from titocli.wire import sample_json, sample_parquet, sample_safetensors

from .numbered import rows

U = {"role": "user", "content": "What is 1+2?"}
FINE = {"role": "assistant", "content": "fine"}
GO_ON = {"role": "user", "content": "go on"}


@dataclass
class Served:
    """A server with one session."""

    http: httpx.Client
    engine: ScriptedEngine
    base: str

    def chat(self, messages: Sequence[Any], **more: Any) -> httpx.Response:
        return self.http.post(f"{self.base}/v1/chat/completions", json={"messages": messages, **more})

    def samples(self, body: Any = None, *, query: str = "", **headers: str) -> httpx.Response:
        return self.http.post(f"{self.base}/samples{query}", json=body or {}, headers=headers)

    def rows_of(self, body: Any = None) -> list[Any]:
        found: list[Any] = self.samples(body, query="?format=json").json()["samples"]
        return found


@pytest.fixture
def settings() -> SampleSettings:
    return SampleSettings()


@pytest.fixture
def served(settings: SampleSettings) -> Iterator[Served]:
    with serving(settings) as each:
        yield each


class serving:  # noqa: N801 - reads as a context manager
    """A running server and one session on it."""

    def __init__(self, settings: SampleSettings, replay: ReplayOutputs | None = None) -> None:
        self._engine = ScriptedEngine()
        server = serve_family(self._engine, "qwen3", HistoryPolicy.TREE)
        self._running = running(replace(server, samples=settings, replay=replay))

    def __enter__(self) -> Served:
        url = self._running.__enter__()
        self._http = httpx.Client(base_url=url, timeout=30)
        session_id = self._http.post("/sessions").json()["session_id"]
        return Served(self._http, self._engine, f"/sessions/{session_id}")

    def __exit__(self, *raised: Any) -> None:
        self._http.close()
        self._running.__exit__(*raised)


def test_post_answers_safetensors_and_get_json(served: Served) -> None:
    served.chat([U])
    posted = served.samples()
    shown = served.http.get(f"{served.base}/samples")

    assert posted.headers["content-type"] == "application/octet-stream"
    assert shown.headers["content-type"] == "application/json"
    document = sample_safetensors.decode(posted.content)
    assert document == sample_json.decode_json(shown.content)
    (sample,) = document.samples
    assert list(sample.tokens) == [*served.engine.requests[0].prompt_ids, *b"fine", 258]
    assert sample.response == "fine<|im_end|>"
    assert list(sample.rollout_log_probs or ()) == [-0.25, -0.5, -0.75, -1.0, -1.25]
    assert sample.prefix_cache_info == {
        "cached_tokens": 3,
        "total_prompt_tokens": len(served.engine.requests[0].prompt_ids),
    }


@pytest.mark.parametrize(
    ("query", "accept", "media_type"),
    [
        ("?format=jsonl", "*/*", "application/x-ndjson"),
        ("", "application/jsonl", "application/x-ndjson"),
        ("?format=parquet", "*/*", "application/vnd.apache.parquet"),
        ("?format=json", "application/octet-stream", "application/json"),
    ],
)
def test_a_format_is_chosen_by_query_or_accept(
    served: Served, query: str, accept: str, media_type: str
) -> None:
    served.chat([U])
    reply = served.samples(query=query, accept=accept)

    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith(media_type)
    whole = sample_json.decode_json(served.samples(query="?format=json").content)
    decoders: dict[str, Callable[[bytes], object]] = {
        "application/x-ndjson": sample_json.decode_jsonl,
        "application/vnd.apache.parquet": lambda data: sample_parquet.decode_parquet(data).samples,
        "application/json": lambda data: sample_json.decode_json(data).samples,
    }
    decoded = decoders[media_type](reply.content)
    assert decoded == whole.samples


def test_the_document_says_what_the_session_says_and_adds_the_agent(served: Served) -> None:
    served.chat([U])
    shown = served.http.get(served.base).json()
    document = served.samples({"metadata": {"reward": 0.5}}, query="?format=json").json()

    assert document["session_metadata"] == {**shown["metadata"], "agent": {"reward": 0.5}}
    assert document["session_rollout_metrics"]["session_id"] == served.base.removeprefix("/sessions/")
    assert document["session_rollout_metrics"]["metrics"]["turns"] == 1
    assert [sample["reward"] for sample in document["samples"]] == [0.5]
    assert document["samples"][0]["metadata"]["reward"] == 0.5


def test_each_leaf_has_its_own_mismatches(served: Served) -> None:
    served.engine.answer = lambda request: plain_answer(request, "<think>\n\n</think>\n\nfine")
    served.chat([U])
    served.engine.answer = lambda request: plain_answer(request, "ill")
    served.chat([GO_ON])
    by_leaf = {s["metadata"]["leaf"]["node_id"]: s["metadata"] for s in served.rows_of()}

    assert [mismatch["type"] for mismatch in by_leaf[1]["tito_session_mismatch"]] == ["assistant_text"]
    assert by_leaf[0]["accumulated_token_ids"] != by_leaf[1]["accumulated_token_ids"]


def test_a_limit_of_the_request_comes_before_the_servers() -> None:
    with serving(SampleSettings(max_seq_len=1)) as served:
        served.chat([U])
        empty = served.samples(query="?format=json").json()
        prompt = len(served.engine.requests[0].prompt_ids)

        assert (empty["samples"], empty["empty_reason"]) == ([], "all_truncated")
        (cut,) = served.rows_of({"max_seq_len": prompt + 2})
        assert (len(cut["tokens"]), cut["status"]) == (prompt + 2, "truncated")
        shown = served.http.get(f"{served.base}/samples?max_seq_len={prompt + 1}").json()
        assert len(shown["samples"][0]["tokens"]) == prompt + 1
        assert served.rows_of({"max_seq_len": None}) == []


@pytest.mark.parametrize(
    "body",
    [
        b"{bad",
        b"[1]",
        b'"x"',
        b'{"max_seq_len": 0}',
        b'{"max_seq_len": -1}',
        b'{"max_seq_len": 1.5}',
        b'{"max_seq_len": true}',
        b'{"max_seq_len": "9"}',
        b'{"metadata": []}',
        b'{"metadata": {"reward": "high"}}',
        b'{"metadata": {"reward": true}}',
        b'{"metadata": {"reward": 1e999}}',
        b'{"max_seqlen": 3}',
        b"\xff\xfe",
        b'{"metadata":' * 2000 + b"1" + b"}" * 2000,
    ],
)
def test_a_malformed_body_is_a_400_with_a_code(served: Served, body: bytes) -> None:
    served.chat([U])
    reply = served.http.post(f"{served.base}/samples", content=body)

    assert reply.status_code == 400
    assert reply.json()["error"]["code"] in {"invalid_json", "invalid_sample_request", "unknown_name"}


@pytest.mark.parametrize("depth", [200, 900, 990, 999])
def test_metadata_of_any_depth_gets_an_answer(served: Served, depth: int) -> None:
    served.chat([U])
    body = b'{"metadata": ' + b'{"a":' * depth + b"1" + b"}" * depth + b"}"
    reply = served.http.post(f"{served.base}/samples", content=body)

    assert reply.status_code in (200, 400)


@pytest.mark.parametrize(
    "query", ["?max_seq_len=x", "?max_seq_len=0", "?max_seq_len=" + "9" * 5000, "?format=xml"]
)
def test_a_malformed_query_is_a_400(served: Served, query: str) -> None:
    assert served.http.get(f"{served.base}/samples{query}").status_code == 400


def test_a_client_that_takes_none_of_the_formats_gets_a_406(served: Served) -> None:
    reply = served.samples(accept="image/png")

    assert (reply.status_code, reply.json()["error"]["code"]) == (406, "not_acceptable")


def test_unknown_and_deleted_sessions_have_no_samples(served: Served) -> None:
    assert served.http.post("/sessions/nope/samples").status_code == 404
    served.http.delete(served.base)
    assert served.samples().status_code == 410


def test_nothing_generated_is_an_empty_answer_with_a_reason(served: Served) -> None:
    assert served.samples(query="?format=json").json()["empty_reason"] == "no_records"
    assert served.samples(query="?format=jsonl").content == b""


def fail(samples: Sequence[Sample], metadata: Any) -> Sequence[Sample]:
    raise KeyError("tree_of_mine")


def test_a_failing_hook_is_a_422_with_its_name_and_the_session_lives_on() -> None:
    with serving(SampleSettings(hooks=sample_hooks(f"{__name__}.fail"))) as served:
        served.chat([U])
        refused = served.samples()

        assert refused.status_code == 422
        error = refused.json()["error"]
        assert error["code"] == "sample_hook_failed"
        assert f"picker={__name__}.fail, postprocessor=default_postprocess" in error["message"]
        assert served.chat([U, FINE, GO_ON]).status_code == 200


def test_asking_twice_answers_the_same_and_the_session_is_unchanged(served: Served) -> None:
    served.chat([U])
    before = served.http.get(served.base).json()

    assert served.samples().content == served.samples().content
    assert served.http.get(served.base).json() == before
    assert len(served.engine.requests) == 1


@pytest.mark.regression("R12")
def test_slow_hooks_hold_up_neither_health_nor_chats() -> None:
    entered, release = threading.Semaphore(0), threading.Event()

    def wait(samples: Sequence[Sample], metadata: Any) -> Sequence[Sample]:
        entered.release()
        assert release.wait(20)
        return samples

    with serving(SampleSettings(hooks=SampleHooks(picker=wait))) as served:
        served.chat([U])
        replies: list[httpx.Response] = []
        collectors = [
            threading.Thread(target=lambda: replies.append(served.samples(query="?format=json")))
            for _ in range(4)
        ]
        for collector in collectors:
            collector.start()
        try:
            # Every thread for samples is busy; two more requests wait.
            assert entered.acquire(timeout=10)
            assert entered.acquire(timeout=10)
            before = time.monotonic()
            assert served.http.get("/health").status_code == 200
            assert served.chat([U, FINE, GO_ON]).status_code == 200
            other = served.http.post("/sessions").json()["session_id"]
            path = f"/sessions/{other}/v1/chat/completions"
            assert served.http.post(path, json={"messages": [U]}).status_code == 200
            assert time.monotonic() - before < 5
        finally:
            release.set()
            for collector in collectors:
                collector.join()
        assert [reply.status_code for reply in replies] == [200] * 4
        lengths = {len(reply.json()["samples"][0]["tokens"]) for reply in replies}
        assert len(lengths) <= 2


def with_experts(request: GenerateRequest) -> Completion:
    """An answer with the rows that were asked for, as the SGLang adapter reads them."""
    completion = plain_answer(request)
    if request.replay is None:
        return completion
    end = len(request.prompt_ids) + len(completion.ids) - 1
    payload = rows(range(request.replay.start or 0, end), start=request.replay.start)
    return replace(completion, replay={ReplayKind.ROUTED_EXPERTS: payload})


def test_replay_data_reaches_the_sample_and_the_record_and_never_a_chat_reply() -> None:
    outputs = ReplayOutputs(kinds=frozenset({ReplayKind.ROUTED_EXPERTS}), layers=2)
    with serving(SampleSettings(), outputs) as served:
        served.engine.answer = with_experts
        replies = [served.chat([U]), served.chat([U, FINE, GO_ON])]
        (sample,) = sample_safetensors.decode(served.samples().content).samples
        records = served.http.get(served.base).json()["records"]
        evaluation = served.http.post("/sessions", json={"evaluation": True}).json()["session_id"]
        served.http.post(f"/sessions/{evaluation}/v1/chat/completions", json={"messages": [U]})

    assert all("routed_experts" not in reply.text for reply in replies)
    found = sample.rollout_routed_experts
    assert found is not None
    assert found.shape == (len(sample.tokens) - 1, 2, 3)
    assert found.data == rows(range(len(sample.tokens) - 1), start=None).data
    first, second, evaluated = served.engine.requests
    assert first.replay is not None
    assert second.replay is not None
    assert (first.replay.start, second.replay.start) == (0, len(first.prompt_ids) + 4)
    assert evaluated.replay is None
    assert all(record["response"]["metadata"]["routed_experts"] for record in records)
    assert json.loads(json.dumps(records))
