"""What ``serve-session`` flags change, seen over HTTP."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.serve.test_serve_session import command, served
from titocli.cli.stack import recording
from titocli.families.registry import get_family
from titocli.launch.command import LaunchOptions
from titocli.session.generation import ReplayKind, ReplayMode, ReplayOutputs

U = {"role": "user", "content": "go"}
CALL = {"role": "assistant", "content": "fine", "reasoning_content": "not what was sampled"}


@pytest.fixture
def engine(tmp_path: Path) -> tuple[str, ...]:
    script = tmp_path / "script.jsonl"
    script.write_text(3 * (json.dumps({"text": "<think>\nso\n</think>\n\nfine"}) + "\n"))
    return ("--family", "qwen3", "--engine", "replay", "--replay", str(script))


def chat(http: httpx.Client, base_url: str, *messages: Any) -> httpx.Response:
    return http.post(f"{base_url}/v1/chat/completions", json={"messages": messages})


@pytest.mark.parametrize(("matcher", "parent"), [("strict", None), ("role_content_only", 0)])
def test_the_matcher_decides_where_a_replay_attaches(
    engine: tuple[str, ...], tmp_path: Path, matcher: str, parent: int | None
) -> None:
    options = (*engine, "--message-matcher", matcher)
    with served(tmp_path / "ready.json", *options) as (_, url), httpx.Client(timeout=30) as http:
        base_url = http.post(f"{url}/sessions").json()["base_url"]
        chat(http, base_url, U)
        chat(http, base_url, U, CALL, U)
        nodes = http.get(base_url).json()["metadata"]["tree"]["nodes"]
        health = http.get(f"{url}/health").json()

    assert [node["parent"] for node in nodes] == [None, parent]
    assert health["message_matcher"] == matcher


@pytest.mark.parametrize(
    ("flag", "status", "code"),
    [
        ("--max-turns", 409, "session_limit"),
        ("--max-session-tokens", 409, "session_limit"),
        ("--max-context-tokens", 400, "context_length_exceeded"),
    ],
)
def test_a_limit_refuses_before_the_engine_runs(
    engine: tuple[str, ...], tmp_path: Path, flag: str, status: int, code: str
) -> None:
    at_most = "1" if flag == "--max-turns" else "90"
    with (
        served(tmp_path / "ready.json", *engine, flag, at_most) as (_, url),
        httpx.Client(timeout=30) as http,
    ):
        base_url = http.post(f"{url}/sessions").json()["base_url"]
        first = chat(http, base_url, U)
        refused = chat(http, base_url, U, first.json()["choices"][0]["message"], U | {"content": "x" * 90})
        turns = len(http.get(base_url).json()["records"])

    assert first.status_code == 200
    assert (refused.status_code, refused.json()["error"]["code"]) == (status, code)
    assert turns == 1


def test_samples_are_picked_and_cut_as_the_flags_say(engine: tuple[str, ...], tmp_path: Path) -> None:
    options = (*engine, "--sample-picker", "all_leaves", "--max-seq-len", "30")
    with served(tmp_path / "ready.json", *options) as (_, url), httpx.Client(timeout=30) as http:
        base_url = http.post(f"{url}/sessions").json()["base_url"]
        chat(http, base_url, U)
        chat(http, base_url, U)
        samples = http.get(f"{base_url}/samples").json()["samples"]

    # Two equal prompts: the default picker would keep the later one alone.
    assert len(samples) == 2
    assert {len(sample["tokens"]) for sample in samples} == {30}
    assert {sample["status"] for sample in samples} == {"truncated"}


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--message-matcher", "no.such.function"), 2),
        (("--message-matcher", "loose"), 2),
        (("--sample-picker", "drop_retry"), 2),
        (("--sample-postprocessor", "json.loads2"), 2),
        (("--replay-layers", "3"), 2),
        (("--replay-output", "routed_experts"), 2),
        (("--max-turns", "0"), 2),
    ],
)
def test_a_flag_that_cannot_be_honoured_is_one_sentence(
    engine: tuple[str, ...], options: tuple[str, ...], code: int
) -> None:
    done = subprocess.run(command(*engine, *options), capture_output=True, text=True, check=False)

    assert done.returncode == code
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[0].startswith("error: ")


def test_sglang_is_told_to_keep_routed_experts_when_they_are_asked_for() -> None:
    launch = LaunchOptions(model="m", family=get_family("qwen3"), port=1, python="python")
    experts = ReplayOutputs(
        kinds=frozenset({ReplayKind.ROUTED_EXPERTS}), mode=ReplayMode.ADDITIONAL, layers=2
    )
    told = replace(launch, extra=("--enable-return-routed-experts",))

    assert recording(launch, experts) == told
    assert recording(told, experts) == told
    assert recording(launch, None) == launch
