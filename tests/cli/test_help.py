"""Help pages: grouped, complete, and with examples that run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.models import CommandInfo, TyperInfo

from tests.cli.conftest import TEMPLATE, Run
from titocli.cli.app import app
from titocli.cli.families import app as families_app

#: Pages whose examples need nothing but files; commands that start servers test their own.
PAGES = [
    *((), ("render",), ("families",), ("families", "list"), ("families", "show"), ("families", "check")),
    *(("register-family",), ("verify-template",)),
]


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def examples_of(run: Run, page: tuple[str, ...]) -> list[str]:
    help_page = run(*page, "--help").out.decode()
    lines = help_page[help_page.index(" Examples") :].splitlines()[1:]
    return [line.partition("  # ")[0].strip() for line in lines if line.strip()]


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("page", PAGES, ids=" ".join)
def test_every_example_in_help_runs(run: Run, page: tuple[str, ...], folder: Path) -> None:
    (folder / "request.json").write_text('{"messages": [{"role": "user", "content": "hi"}]}')
    for name in ("Qwen3/chat_template.jinja", "chat_template.jinja", "fixed.jinja", "native.jinja"):
        (folder / name).write_text(TEMPLATE)
    (folder / "failing.json").write_text('[{"role": "user", "content": "hi"}]')
    (folder / "expected.txt").write_bytes(run("render", "chat.json", "--family", "qwen3", "--turns", "1").out)
    binaries = folder / "bin"
    binaries.mkdir()
    (binaries / "titocli").write_text(f'#!/bin/sh\nexec {sys.executable} -m titocli "$@"\n')
    (binaries / "titocli").chmod(0o755)
    examples = examples_of(run, page)

    assert len(examples) >= 2
    for example in examples:
        done = subprocess.run(
            ["sh", "-c", example],
            env={**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}"},
            capture_output=True,
            check=False,
            timeout=240,
        )
        # The toy template stands for the checkpoint's own: it differs and is unknown, which are answers too.
        answers_no = any(word in example for word in ("--against", "families check", "chat_template.jinja"))
        assert done.returncode == int(answers_no), (example, done.stderr)
        assert done.stdout or "--check" in example or "--output" in example, example


def command_name(command: CommandInfo) -> str:
    assert command.callback is not None
    return command.name or command.callback.__name__.replace("_", "-")


def group_name(group: TyperInfo) -> str:
    assert group.typer_instance is not None
    name = group.typer_instance.info.name
    assert isinstance(name, str)
    return name


@pytest.mark.usefixtures("wide")
def test_every_command_has_examples(run: Run) -> None:
    names = [command_name(command) for command in app.registered_commands]
    groups = [group_name(group) for group in app.registered_groups]
    commands: list[tuple[str, ...]] = [(name,) for name in [*names, *groups]]
    commands += [("families", command_name(command)) for command in families_app.registered_commands]

    for page in commands:
        assert examples_of(run, page), page


def test_options_of_render_are_grouped(run: Run) -> None:
    page = run("render", "--help").out.decode()

    for panel in ("Model and family", "Conversation", "Generation prompt", "Output", "Compare"):
        assert f"─ {panel} " in page


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_has_two_names(run: Run, flag: str) -> None:
    outcome = run("render", flag)

    assert outcome.code == 0
    assert outcome.err == ""


def test_the_version_is_also_told_among_other_words(run: Run) -> None:
    assert run("-q", "--version", "render").out == b"titocli 0.1.0\n"
