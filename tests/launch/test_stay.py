"""``launch-sglang`` and ``serve-session --gpus`` as processes, with a small program in SGLang's place."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from titocli.engine.replay import ReplayEngine
from titocli.errors import EngineUnreachable
from titocli.families.registry import get_family
from titocli.families.renderer import family_renderer
from titocli.families.tiny import tiny_tokenizer
from titocli.server.serve import bind, serve
from titocli.server.state import SessionServer

#: Takes the place of a Python with SGLang: says that sglang is there, serves /ready and /model_info, and
#: ends as the model's name says.
ENGINE = f"""#!{sys.executable}
import json, os, sys, threading, time
from http.server import BaseHTTPRequestHandler, HTTPServer
if sys.argv[1] == "-c":
    sys.exit(0)
flags = dict(zip(sys.argv[3::2], sys.argv[4::2]))

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({{"model_path": "m", "served_model_name": "m"}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

def die():
    time.sleep(3)
    os._exit(9)

if flags["--model-path"] == "dies-soon":
    threading.Thread(target=die).start()
HTTPServer((flags["--host"], int(flags["--port"])), Handler).serve_forever()
"""


@pytest.fixture
def engine_python(tmp_path: Path) -> Path:
    path = tmp_path / "python"
    path.write_text(ENGINE)
    path.chmod(0o755)
    return path


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    path = tmp_path / "tokenizer.json"
    path.write_text(tiny_tokenizer(get_family("qwen3")).definition)
    return path


def start(*argv: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "titocli", *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.fixture
def launched(engine_python: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    common = ("--family", "qwen3", "--port", "0", "--log-file", str(tmp_path / "log"))
    process = start("launch-sglang", "stays", *common, "--python", str(engine_python), "--json")
    yield process
    process.kill()
    process.communicate()


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_launch_sglang_stays_until_it_is_told_to_end(launched: subprocess.Popen[str]) -> None:
    assert launched.stdout is not None
    ready = json.loads(launched.stdout.readline())["data"]
    assert is_running(ready["pid"])
    launched.send_signal(signal.SIGTERM)
    _, errors = launched.communicate(timeout=30)

    assert launched.returncode == 130
    assert "Traceback" not in errors
    assert not is_running(ready["pid"])


def test_launch_sglang_says_when_the_engine_dies(engine_python: Path, tmp_path: Path) -> None:
    common = ("--family", "qwen3", "--port", "0", "--log-file", str(tmp_path / "log"))
    process = start("launch-sglang", "dies-soon", *common, "--python", str(engine_python))
    output, errors = process.communicate(timeout=60)

    assert process.returncode == 5
    assert "engine ready at http://127.0.0.1:" in output
    assert "the engine ended with exit code 9" in errors
    assert str(tmp_path / "log") in errors


def test_a_session_server_ends_when_its_engine_dies(
    engine_python: Path, tokenizer: Path, tmp_path: Path
) -> None:
    common = ("--family", "qwen3", "--port", "0", "--log-file", str(tmp_path / "log"))
    engine = ("--gpus", "1", "--model", "dies-soon", "--python", str(engine_python))
    process = start("serve-session", *common, *engine, "--tokenizer", str(tokenizer))
    output, errors = process.communicate(timeout=60)

    assert process.returncode == 5
    assert "/sessions" in output
    assert "the engine ended with exit code 9" in errors
    assert "Traceback" not in errors


def test_serving_raises_what_its_watch_raises() -> None:
    family = get_family("qwen3")
    tokenizer = tiny_tokenizer(family)
    server = SessionServer(
        renderer=family_renderer(family, tokenizer), engine=ReplayEngine(family, tokenizer, ())
    )
    ready: list[bool] = []

    def watch() -> None:
        if ready:
            raise EngineUnreachable("it died")

    with bind("127.0.0.1", 0) as listener, pytest.raises(EngineUnreachable):
        serve(server, listener, on_ready=lambda: ready.append(True), watch=watch)
    assert ready == [True]
