"""Runs one command line: whatever happens inside becomes output and an exit code here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import Any

import typer
import typer.main

from titocli.cli.usage import CLICK_ERROR, usage_error
from titocli.errors import TitoError, UnwritableFile
from titocli.report.crash import internal_error
from titocli.report.delivery import deliver, deliver_error
from titocli.report.result import Result
from titocli.report.settings import Channel, OutputSettings
from titocli.report.streams import abandon, unwritable

INTERRUPTED = 130


def run(argv: Sequence[str], app: typer.Typer | None = None) -> int:
    """The exit code of ``argv`` (without the program's name), run as ``app``: titocli's own when None."""
    if app is None:
        from titocli.cli.app import app as titocli_app

        app = titocli_app
    root: Any = typer.main.get_command(app)
    names = list(getattr(root, "commands", ()))
    settings = OutputSettings(command=_command_name(argv, names), channel=_channel(argv))
    try:
        return _run(root, argv, settings)
    except BrokenPipeError:
        # Who reads has seen enough.
        abandon(sys.stdout)
        return 0
    except OSError:
        # Not even the error could be written.
        abandon(sys.stdout, sys.stderr)
        return UnwritableFile.exit_code


def _run(root: Any, argv: Sequence[str], settings: OutputSettings) -> int:
    try:
        answer = root.main(list(argv), prog_name="titocli", standalone_mode=False, obj=settings)
        if isinstance(answer, Result):
            return deliver(answer, settings)
        sys.stdout.flush()  # a page of help
        return answer if isinstance(answer, int) else 0
    except TitoError as error:
        return deliver_error(error, settings)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except CLICK_ERROR as error:
        translated = usage_error(error, settings.command)
        return 2 if translated is None else deliver_error(translated, settings)
    except Exception as error:  # noqa: BLE001 - a bug: the user gets a sentence, a file gets the traceback
        if told := unwritable(error):
            abandon(sys.stdout)
        return deliver_error(told or internal_error(error), settings)


def _command_name(argv: Sequence[str], names: Sequence[str]) -> str:
    return next((word for word in argv if word in names), "titocli")


def _channel(argv: Sequence[str]) -> Channel:
    """Who reads the answer; read off the words, for also a command line that does not parse has an answer."""
    words = list(takewhile(lambda word: word != "--", argv))
    named = {("--format", "json"), ("--report", "json")}
    asked = "--json" in words or any(f"{name}={value}" in words for name, value in named)
    asked = asked or not named.isdisjoint(pairwise(words))
    return Channel.PROGRAM if asked else Channel.PERSON


__all__ = ["INTERRUPTED", "run"]
