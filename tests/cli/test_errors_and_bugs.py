"""The one place where exceptions become exit codes, with commands that fail on purpose."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer

from titocli.cli.command import Command, CommandGroup
from titocli.cli.run import run
from titocli.report.result import Envelope, Notice, Result

PROMPT = "the secret prompt"


def app_of(error: BaseException) -> typer.Typer:
    """A command line with one command that raises."""
    app = typer.Typer(cls=CommandGroup)

    @app.callback()
    def group() -> None:
        """A group, for the command to be named."""

    @app.command("fail", cls=Command)
    def fail(*, json: bool = False) -> Result:
        raise error

    return app


def test_a_bug_ends_with_70_and_its_traceback_in_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["fail"], app_of(KeyError("missing")))

    out, err = capsys.readouterr()
    path = Path(err.rpartition("with ")[2].strip())
    assert (code, out) == (70, "")
    assert err.startswith("error: this is a bug in titocli (KeyError)\nhint: please report it with ")
    report = path.read_text()
    assert report.startswith("titocli 0.1.0, Python 3.")
    assert "Traceback" in report
    assert "KeyError: 'missing'" in report


def test_a_bug_is_a_document_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["fail", "--json"], app_of(RuntimeError("x")))

    document = json.loads(capsys.readouterr().out)
    assert (code, document["exit_code"], document["schema"]) == (70, 70, "titocli/fail/1")
    assert document["errors"][0]["code"] == "internal_error"
    assert Path(document["errors"][0]["details"]["file"]).is_file()


def test_an_unwritable_state_directory_does_not_hide_the_bug(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "file"))

    assert run(["fail"], app_of(ValueError("x"))) == 70

    path = Path(capsys.readouterr().err.rpartition("with ")[2].strip())
    assert "ValueError: x" in path.read_text()
    path.unlink()


def test_an_interrupt_is_130(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fail"], app_of(KeyboardInterrupt())) == 130
    assert capsys.readouterr().out == ""


def test_a_result_says_no_with_1_and_the_status_failed(capsys: pytest.CaptureFixture[str]) -> None:
    app = typer.Typer(cls=CommandGroup)

    @app.callback()
    def group() -> None:
        """A group, for the command to be named."""

    @app.command("answer")
    def answer(*, json: bool = False) -> Result:
        notice = Notice(code="odd", message="two\nlines \x1b[0m", hint="none")
        body = Envelope({"b": 1, "a": ("x",)}) if json else b"no\n"
        return Result(body=body, exit_code=1, warnings=(notice,), notes=("note: so it is",))

    assert run(["answer"], app) == 1
    out, err = capsys.readouterr()
    assert (out, err) == ("no\n", "warning: two lines \\x1b[0m\nhint: none\nnote: so it is\n")

    assert run(["answer", "--json"], app) == 1
    out, err = capsys.readouterr()
    assert err == ""
    assert out == (
        '{"data": {"a": ["x"], "b": 1}, "errors": [], "exit_code": 1, "schema": "titocli/answer/1", '
        '"status": "failed", "warnings": [{"code": "odd", "hint": "none", "message": "two\\nlines \\u001b[0m"}]}\n'
    )
