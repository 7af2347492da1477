"""``titocli samples`` against a real server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cli.conftest import Run
from tests.cli.test_help import examples_of
from tests.server.conftest import ScriptedEngine, running, serve_family
from titocli.session.history import HistoryPolicy
from titocli.wire import sample_json, sample_parquet, sample_safetensors

U = {"role": "user", "content": "hi"}


@pytest.fixture
def server() -> Iterator[str]:
    with running(serve_family(ScriptedEngine(), "qwen3", HistoryPolicy.TREE)) as url:
        yield url


@pytest.fixture
def session(server: str) -> str:
    """The base URL of a session with one turn."""
    base = str(httpx.post(f"{server}/sessions").json()["base_url"])
    assert httpx.post(f"{base}/v1/chat/completions", json={"messages": [U]}).status_code == 200
    return base


def test_samples_are_json_lines_by_default(run: Run, session: str) -> None:
    outcome = run("samples", session)

    assert (outcome.code, outcome.err) == (0, "")
    (sample,) = sample_json.decode_jsonl(outcome.out)
    assert bytes(sample.tokens[-5:-1].tolist()) == b"fine"


def test_under_json_they_are_the_data_of_the_envelope(run: Run, session: str) -> None:
    document = run("samples", session, "--json").document

    assert (document["schema"], document["status"]) == ("titocli/samples/1", "ok")
    assert run("samples", session, "--format", "json").document == document
    assert document["data"]["samples"][0]["response_length"] == 5
    assert document["data"]["empty_reason"] is None


@pytest.mark.parametrize(
    ("name", "decode"),
    [
        ("s.safetensors", sample_safetensors.decode),
        ("s.parquet", sample_parquet.decode_parquet),
        ("S.JSONL", sample_json.decode_jsonl),
        ("s.txt", sample_json.decode_jsonl),
    ],
)
def test_the_format_follows_from_the_files_name(
    run: Run, session: str, folder: Path, name: str, decode: Any
) -> None:
    outcome = run("samples", session, "--output", name)

    assert (outcome.code, outcome.out) == (0, b"")
    decoded = decode((folder / name).read_bytes())
    (sample,) = getattr(decoded, "samples", decoded)
    assert sample.response_length == 5


def test_a_format_that_is_named_comes_before_the_files_name(run: Run, session: str, folder: Path) -> None:
    run("samples", session, "--output", "s.parquet", "--format", "safetensors")

    assert len(sample_safetensors.decode((folder / "s.parquet").read_bytes()).samples) == 1


def test_a_limit_and_metadata_go_to_the_server(run: Run, session: str, folder: Path) -> None:
    (folder / "agent.json").write_text('{"reward": 0.5, "note": "n"}')
    whole = json.loads(run("samples", session).out)
    limit = str(len(whole["tokens"]) - 2)
    cut = json.loads(run("samples", session, "--max-seq-len", limit, "--metadata", "agent.json").out)

    assert (cut["status"], cut["response_length"]) == ("truncated", 3)
    assert (cut["reward"], cut["metadata"]["note"]) == (0.5, "n")
    stdin = run("samples", session, "--metadata", "-", stdin=b'{"reward": 2}')
    assert json.loads(stdin.out)["reward"] == 2.0


def test_no_samples_are_a_warning(run: Run, session: str) -> None:
    lines = run("samples", session, "--max-seq-len", "1")
    document = run("samples", session, "--max-seq-len", "1", "--json").document

    assert (lines.code, lines.out) == (0, b"")
    assert "warning: the session has no samples" in lines.err
    assert document["warnings"][0]["code"] == "no_samples"
    assert document["data"]["empty_reason"] == "all_truncated"


def test_a_server_that_is_not_there_is_exit_5(run: Run) -> None:
    outcome = run("samples", "http://127.0.0.1:9/sessions/x")
    document = run("samples", "http://127.0.0.1:9/sessions/x", "--json").document

    assert outcome.code == 5
    assert "error: no answer from the session server" in outcome.err
    assert (document["exit_code"], document["errors"][0]["code"]) == (5, "server_unreachable")


def test_sessions_that_are_unknown_or_gone_are_exit_3(run: Run, server: str, session: str) -> None:
    unknown = run("samples", f"{server}/sessions/nope", "--json").document
    httpx.delete(session)
    gone = run("samples", session, "--json").document

    assert (unknown["exit_code"], unknown["errors"][0]["code"]) == (3, "session_not_found")
    assert (gone["exit_code"], gone["errors"][0]["code"]) == (3, "session_deleted")


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (("not-a-url",), 2),
        (("http://127.0.0.1:9/health",), 2),
        (("http://127.0.0.1:9/sessions/x", "--max-seq-len", "0"), 2),
        (("http://127.0.0.1:9/sessions/x", "--json", "--format", "jsonl"), 2),
        (("http://127.0.0.1:9/sessions/x", "--format", "arrow"), 2),
        (("http://127.0.0.1:9/sessions/x", "--api-key-env", "NOT_SET_ANYWHERE"), 2),
        (("http://127.0.0.1:9/sessions/x", "--metadata", "missing.json"), 3),
        (("http://127.0.0.1:9/sessions/x", "--metadata", "chat.json"), 3),
        ((), 2),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is_sent(
    run: Run, argv: tuple[str, ...], code: int
) -> None:
    outcome = run("samples", *argv)

    assert outcome.code == code
    assert outcome.err.count("Traceback") == 0
    assert outcome.err.startswith("error: ") or "--json" in argv


@pytest.mark.parametrize("stdin", [b"{bad", b"[]", b"\xff", b"[" * 100_000])
def test_metadata_that_is_no_object_is_exit_3(run: Run, session: str, stdin: bytes) -> None:
    assert run("samples", session, "--metadata", "-", stdin=stdin).code == 3


def test_an_output_that_cannot_be_written_is_exit_3(run: Run, session: str) -> None:
    assert run("samples", session, "--output", "no/such/folder/s.jsonl").code == 3


def test_binary_formats_are_not_for_a_terminal(
    run: Run, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    outcome = run("samples", session, "--format", "safetensors")

    assert outcome.code == 2
    assert "--output samples.safetensors" in outcome.err


def test_the_api_key_of_the_environment_is_sent(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from titocli.server.auth import ApiKey

    plain = serve_family(ScriptedEngine(), "qwen3", HistoryPolicy.TREE)
    with running(replace(plain, api_key=ApiKey("secret"))) as url:
        headers = {"Authorization": "Bearer secret"}
        base = httpx.post(f"{url}/sessions", headers=headers).json()["base_url"]
        monkeypatch.setenv("TITO_KEY", "secret")

        assert run("samples", base, "--api-key-env", "TITO_KEY").code == 0
        assert run("samples", base).code != 0


def test_every_example_in_help_runs(run: Run, session: str, folder: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    (folder / "agent.json").write_text('{"reward": 1.0}')
    binaries = folder / "bin"
    binaries.mkdir()
    (binaries / "titocli").write_text(f'#!/bin/sh\nexec {sys.executable} -m titocli "$@"\n')
    (binaries / "titocli").chmod(0o755)
    path = f"{binaries}:{os.environ['PATH']}"
    examples = examples_of(run, ("samples",))

    assert len(examples) >= 4
    for example in examples:
        done = subprocess.run(
            ["sh", "-c", example],
            env={**os.environ, "PATH": path, "SESSION_URL": session},
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, (example, done.stderr)
    assert sample_safetensors.decode((folder / "samples.safetensors").read_bytes()).samples
    assert json.loads((folder / "samples.jsonl").read_text())["reward"] == 1.0
