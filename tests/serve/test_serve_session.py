"""``titocli serve-session`` as a process: ready, serving, ending."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.engine_sglang.loopback import Answer, loopback
from titocli.families.registry import get_family
from titocli.families.tiny import tiny_tokenizer

SCRIPT = [
    {
        "text": "<think>\nlook it up\n</think>\n\n<tool_call>\n"
        '{"name": "weather", "arguments": {"city":  "Paris"}}\n</tool_call>'
    },
    {"ids": [*b"It is mild.", 258], "log_probs": [-0.5] * 12},
]
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]
U = {"role": "user", "content": "How warm is it in Paris?"}


def command(*options: str) -> list[str]:
    return [sys.executable, "-m", "titocli", "serve-session", *options]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in SCRIPT))
    return path


@contextmanager
def served(ready: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and its URL, once the ready file is there."""
    process = subprocess.Popen(
        command("--ready-file", str(ready), "--port", "0", *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 60
        while not ready.exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield process, json.loads(ready.read_text())["url"]
    finally:
        process.kill()
        process.communicate()


def test_a_scripted_tool_conversation_and_a_clean_end(script: Path, tmp_path: Path) -> None:
    options = ("--family", "qwen3", "--engine", "replay", "--replay", str(script))
    with served(tmp_path / "ready.json", *options) as (process, url), httpx.Client() as http:
        base = http.post(f"{url}/sessions").json()["base_url"]
        asked: dict[str, Any] = {"messages": [U], "tools": TOOLS}
        first = http.post(f"{base}/v1/chat/completions", json=asked).json()["choices"][0]
        result = {"role": "tool", "tool_call_id": first["message"]["tool_calls"][0]["id"], "content": "17"}
        asked["messages"] = [U, first["message"], result]
        second = http.post(f"{base}/v1/chat/completions", json=asked).json()["choices"][0]
        spent = http.post(f"{base}/v1/chat/completions", json=asked)
        shown = http.get(base).json()
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=30)

    assert first["finish_reason"] == "tool_calls"
    assert first["message"]["reasoning_content"] == "look it up"
    assert first["message"]["tool_calls"][0]["function"] == {
        "name": "weather",
        "arguments": '{"city":  "Paris"}',
    }
    assert second["message"]["content"] == "It is mild."
    assert (spent.status_code, spent.json()["error"]["code"]) == (502, "engine_refused")
    assert [node["parent"] for node in shown["metadata"]["tree"]["nodes"]] == [None, 0]
    assert process.returncode == 0
    assert url in output
    assert "Traceback" not in errors


def test_json_announces_in_one_line(script: Path, tmp_path: Path) -> None:
    options = ("--family", "qwen3", "--engine", "replay", "--replay", str(script), "--json")
    with served(tmp_path / "ready.json", *options) as (process, url):
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=30)
    announced = json.loads(output.splitlines()[0])

    assert announced["data"]["url"] == url
    assert announced["schema"] == "titocli/serve-session/1"
    assert announced["data"]["pid"] == process.pid
    assert process.returncode == 0


@pytest.mark.case("d09")
def test_a_taken_port_is_said_and_not_served(script: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        options = ("--family", "qwen3", "--engine", "replay", "--replay", str(script), "--port", port)
        refused = subprocess.run(command(*options), capture_output=True, text=True, check=False, timeout=60)

    assert refused.returncode == 2
    assert f"cannot listen on 127.0.0.1:{port}" in refused.stderr


@pytest.mark.parametrize(
    ("options", "exit_code", "said"),
    [
        (["--family", "qwen4xp"], 2, "did you mean 'qwen4exp'"),
        (["--family", "qwen3", "--engine", "embedded", "--engine-url", "http://x"], 2, "exclude each other"),
        (["--family", "qwen3", "--gpus", "1"], 2, "--gpus needs --model"),
        (["--family", "qwen3", "--", "--device", "cpu"], 2, "need --gpus"),
        (["--family", "qwen3", "--engine", "replay"], 2, "go together"),
        (["--family", "qwen3", "--replay", "x.jsonl"], 2, "go together"),
        (["--family", "qwen3", "--kwarg", "clear_thinking=true"], 2, "fixes the template kwarg"),
        (["--family", "nemotron3", "--kwarg", "low_effort=true"], 2, "cannot serve sessions with low_effort"),
        (["--family", "qwen3", "--reasoning-effort", "low"], 2, "has no reasoning effort"),
        (["--family", "qwen3", "--engine-url", "http://127.0.0.1:9"], 4, "needs the tokenizer"),
        (
            ["--family", "qwen3", "--engine", "replay", "--replay", "nowhere.jsonl"],
            3,
            "no such file: nowhere.jsonl",
        ),
        (["--family", "qwen3", "--tokenizer", "nowhere.json"], 4, "no such file"),
        (["--family", "qwen3", "--gpus", "1", "--model", ".", "--tp", "2"], 2, "do not fit"),
        (["--family", "qwen3", "--session-ttl", "soon"], 2, "is no time"),
        (["--family", "qwen3", "--session-ttl", "0s"], 2, "is no time"),
        (["--family", "qwen3", "--api-key-env", "TITOCLI_NO_SUCH_KEY"], 2, "empty or missing"),
    ],
)
def test_what_cannot_be_served_is_said_in_a_sentence(options: list[str], exit_code: int, said: str) -> None:
    refused = subprocess.run(command(*options), capture_output=True, text=True, check=False, timeout=60)

    assert refused.returncode == exit_code, refused.stderr
    assert said in refused.stderr
    assert "Traceback" not in refused.stderr
    assert refused.stdout == ""


def test_an_engine_that_is_not_there_is_said(tmp_path: Path) -> None:
    tokenizer = tmp_path / "tokenizer.json"
    tokenizer.write_text(tiny_tokenizer(get_family("qwen3")).definition)
    options = (
        "--family",
        "qwen3",
        "--engine-url",
        "http://127.0.0.1:9",
        "--tokenizer",
        str(tokenizer),
        "--port",
        "0",
    )
    refused = subprocess.run(command(*options), capture_output=True, text=True, check=False, timeout=60)

    assert refused.returncode == 5
    assert "Traceback" not in refused.stderr
    assert "127.0.0.1:9" in refused.stderr


def test_the_demo_keeps_every_token() -> None:
    demo = Path(__file__).parent.parent.parent / "examples" / "demo.py"
    ran = subprocess.run(
        [sys.executable, str(demo), "--family", "qwen35"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert ran.returncode == 0, ran.stderr
    assert "prefix lost in 0 turns; mismatches: 0 hard" in ran.stdout


def test_the_first_signal_drains_and_the_second_ends(tmp_path: Path) -> None:
    tokenizer = tmp_path / "tokenizer.json"
    tokenizer.write_text(tiny_tokenizer(get_family("qwen3")).definition)
    hanging = Answer({}, hang=threading.Event())
    answers = {"/model_info": Answer({"model_path": "m"}), "/v1/chat/completions": hanging}
    with (
        loopback(answers) as engine,
        served(
            tmp_path / "ready.json",
            *("--family", "qwen3", "--engine-url", engine.url, "--tokenizer", str(tokenizer)),
        ) as (process, url),
        httpx.Client(timeout=60) as http,
        ThreadPoolExecutor(1) as pool,
    ):
        base = http.post(f"{url}/sessions").json()["base_url"]
        pool.submit(httpx.post, f"{base}/v1/chat/completions", json={"messages": [U]}, timeout=60)
        engine.wait_for("/v1/chat/completions", 30)
        process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + 20
        while httpx.get(f"{url}/ready").status_code != 503:
            assert time.monotonic() < deadline
        refused = httpx.post(f"{base}/v1/chat/completions", json={"messages": [U]})
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=20)

    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "server_draining")
    assert refused.headers["retry-after"]
    assert "Traceback" not in errors


def test_the_key_of_the_environment_is_wanted(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TITOCLI_TEST_KEY", "s3cret")
    options = ("--family", "qwen3", "--engine", "replay", "--replay", str(script))
    with served(tmp_path / "ready.json", *options, "--api-key-env", "TITOCLI_TEST_KEY") as (process, url):
        refused = httpx.post(f"{url}/sessions")
        made = httpx.post(f"{url}/sessions", headers={"Authorization": "Bearer s3cret"})
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=30)

    assert (refused.status_code, made.status_code) == (401, 200)
    assert "s3cret" not in output + errors
