"""``titocli serve-session`` with a script, as a process, for agents that are programs of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.agents.environment import AGENTS
from tests.agents.npm import QWEN_CODE
from tests.assets import unavailable
from tests.assets.packages import AssetUnavailable
from tests.pinned_environment import EnvironmentUnavailable

_READY_SECONDS = 60


def call(name: str, arguments: dict[str, Any], *, thinking: str) -> dict[str, Any]:
    """A line of a script that thinks and calls one tool, spelled as no serialiser would spell it."""
    spelled = json.dumps(arguments).replace(": ", ":  ")
    text = f"<think>\n{thinking}\n</think>\n\n<tool_call>\n"
    return {"text": f'{text}{{"name": "{name}", "arguments": {spelled}}}\n</tool_call>'}


def answer(text: str, *, thinking: str) -> dict[str, Any]:
    """A line of a script that thinks and answers."""
    return {"text": f"<think>\n{thinking}\n</think>\n\n{text}"}


@dataclass(frozen=True)
class Scripted:
    """A server of scripted sessions."""

    url: str

    def new_session(self) -> str:
        """The base URL of a new session."""
        return str(httpx.post(f"{self.url}/sessions", timeout=30).json()["base_url"])

    def shown(self, base_url: str) -> Any:
        """What a session says of itself."""
        return httpx.get(base_url, timeout=30).json()


Serve = Callable[..., Any]


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """Starts a server: ``with serve(script, *options) as server``."""

    @contextmanager
    def served(script: list[dict[str, Any]], *options: str) -> Iterator[Scripted]:
        lines, ready = tmp_path / "script.jsonl", tmp_path / "ready.json"
        lines.write_text("".join(json.dumps(line) + "\n" for line in script))
        command = [sys.executable, "-m", "titocli", "serve-session", "--family", "qwen3", "--port", "0"]
        command += ["--engine", "replay", "--replay", str(lines), "--ready-file", str(ready), *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            deadline = time.monotonic() + _READY_SECONDS
            while not ready.exists():
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < deadline
                time.sleep(0.05)
            yield Scripted(json.loads(ready.read_text())["url"])
        finally:
            process.terminate()
            process.communicate()

    return served


@pytest.fixture(scope="session")
def agents_python() -> str:
    """A Python that has litellm and schemathesis, and no titocli."""
    try:
        return str(AGENTS.python())
    except EnvironmentUnavailable as error:
        unavailable(str(error))


@pytest.fixture(scope="session")
def qwen_code() -> list[str]:
    """The command of qwen-code, a coding agent on Node."""
    try:
        return ["node", str(QWEN_CODE.folder() / "cli.js")]
    except AssetUnavailable as error:
        unavailable(str(error))


@pytest.fixture
def bare_environment(tmp_path: Path) -> dict[str, str]:
    """An environment in which an agent finds no settings of whoever runs the tests."""
    home = tmp_path / "home"
    home.mkdir()
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "NO_COLOR": "1"}
