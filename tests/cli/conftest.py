"""The command line, called in this process and in one of its own."""

from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from titocli.__main__ import main
from titocli.families.chatml import REQUIRED_TOKENS
from titocli.tokens.byte_level import byte_level_tokenizer

SNAPSHOTS = Path(__file__).parent / "snapshots"

#: A small ChatML template that reads one kwarg and raises for a message that says so.
TEMPLATE = """\
{%- for m in messages -%}
{%- if m.content == 'raise' %}{{ raise_exception('this message is refused') }}{% endif -%}
<|im_start|>{{ m.role }}
{{ m.content }}{{ ' shouting' if loud }}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif -%}
"""
MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hi [INST] :smile:\tünd 🙂"},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": "Bye"},
]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one command line left behind."""

    code: int
    out: bytes
    err: str

    @property
    def document(self) -> Any:
        """Standard output as the one JSON document that it has to be."""
        return json.loads(self.out)


Run = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory of its own with the files that tests and help examples name."""
    for name in ("NO_COLOR", "FORCE_COLOR", "GITHUB_ACTIONS", "PY_COLORS", "TERM"):
        monkeypatch.delenv(name, raising=False)
    # The command line sets these two; this makes them go away again.
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.jinja").write_bytes(TEMPLATE.encode())
    (tmp_path / "chat.json").write_bytes(json.dumps(MESSAGES).encode())
    checkpoint = tmp_path / "Qwen3"
    checkpoint.mkdir()
    tokenizer = byte_level_tokenizer(REQUIRED_TOKENS)
    (checkpoint / "tokenizer.json").write_bytes(tokenizer.definition.encode())
    return tmp_path


@pytest.fixture(autouse=True)
def _logging() -> Iterator[None]:
    """Takes the handler away that a command line in this process installs."""
    yield
    logger = logging.getLogger("titocli")
    logger.setLevel(logging.NOTSET)
    logger.handlers.clear()


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command line in this process."""

    def call(*argv: str, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(argv)
        captured = capsysbinary.readouterr()
        return Outcome(code, captured.out, captured.err.decode())

    return call


def run_process(*argv: str, stdin: bytes = b"", **environment: str) -> Outcome:
    """Runs a command line in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "titocli", *argv],
        input=stdin,
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
        timeout=60,
    )
    return Outcome(done.returncode, done.stdout, done.stderr.decode())


def assert_snapshot(name: str, actual: bytes) -> None:
    """``actual`` is the file ``name``, byte for byte; TITOCLI_UPDATE_SNAPSHOTS=1 writes it instead."""
    path = SNAPSHOTS / name
    if os.environ.get("TITOCLI_UPDATE_SNAPSHOTS") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(actual)
    assert path.read_bytes() == actual
