"""``titocli serve-session`` as a process: ready, serving, ending."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

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
    ],
)
def test_what_cannot_be_served_is_said_in_a_sentence(options: list[str], exit_code: int, said: str) -> None:
    refused = subprocess.run(command(*options), capture_output=True, text=True, check=False, timeout=60)

    assert refused.returncode == exit_code, refused.stderr
    assert said in refused.stderr
    assert "Traceback" not in refused.stderr
    assert refused.stdout == ""


def test_an_engine_that_is_not_there_is_said(tmp_path: Path) -> None:
    from titocli.families.registry import get_family
    from titocli.families.tiny import tiny_tokenizer

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
