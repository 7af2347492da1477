"""The one place where results and errors become output and exit codes.

Standard output carries the result and nothing else; bytes go out as they are.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TextIO

from titocli.errors import TitoError, UnwritableFile, UnwritableOutput
from titocli.report.envelope import envelope
from titocli.report.result import Drawing, Envelope, Result, Status
from titocli.report.settings import Channel, OutputSettings, Verbosity, is_coloured
from titocli.report.streams import abandon
from titocli.report.visible import one_line

_BOLD_RED, _BOLD_YELLOW, _BOLD_CYAN = "1;31", "1;33", "1;36"


def deliver(result: Result, settings: OutputSettings) -> int:
    """Write a result where it belongs; returns its exit code.  Raises ``UnwritableFile``."""
    _write(_bytes(result, settings), result.output)
    try:
        _say_beside(result, settings)
    except OSError:
        abandon(sys.stderr)  # the result is out, and there is nobody to tell
    return result.exit_code


def _say_beside(result: Result, settings: OutputSettings) -> None:
    """Warnings and notes, for a person who wants them."""
    if settings.verbosity is Verbosity.QUIET or isinstance(result.body, Envelope):
        return
    for notice in result.warnings:
        _say(settings, "warning", notice.message, notice.hint)
    for note in result.notes:
        sys.stderr.write(f"{one_line(note)}\n")
    sys.stderr.flush()


def deliver_error(error: TitoError, settings: OutputSettings) -> int:
    """Write an error: prose on standard error, or the envelope on standard output; returns its exit code."""
    if settings.channel is Channel.PROGRAM and not isinstance(error, UnwritableOutput):
        document = envelope(settings.command, Status.ERROR, error.exit_code, errors=[error])
        _write(document, None)
    else:
        _say(settings, "error", error.message, error.hint)
    return error.exit_code


def _bytes(result: Result, settings: OutputSettings) -> bytes:
    if isinstance(result.body, bytes):
        return result.body
    if isinstance(result.body, Envelope):
        return envelope(
            settings.command,
            result.status,
            result.exit_code,
            data=result.body.data,
            warnings=result.warnings,
        )
    return _drawn(result.body, result.output, settings)


def _drawn(drawing: Drawing, output: Path | None, settings: OutputSettings) -> bytes:
    # Here, for rich costs more than most commands.
    from io import StringIO  # noqa: PLC0415

    from rich.console import Console  # noqa: PLC0415

    page = StringIO()
    coloured = output is None and is_coloured(sys.stdout, settings.color)
    console = Console(
        file=page,
        force_terminal=coloured,
        color_system="auto" if coloured else None,
        highlight=False,
        markup=False,
        emoji=False,
    )
    drawing(console)
    return page.getvalue().encode("utf-8", "replace")


def _write(data: bytes, output: Path | None) -> None:
    if output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        output.write_bytes(data)
    except OSError as error:
        raise UnwritableFile(
            f"cannot write {output}: {error.strerror}", hint="check the path and its permissions"
        ) from error


def _say(settings: OutputSettings, kind: str, message: str, hint: str | None) -> None:
    style = _BOLD_RED if kind == "error" else _BOLD_YELLOW
    _line(sys.stderr, settings, kind, style, message)
    if hint:
        _line(sys.stderr, settings, "hint", _BOLD_CYAN, hint)


def _line(stream: TextIO, settings: OutputSettings, word: str, style: str, text: str) -> None:
    shown = f"\x1b[{style}m{word}:\x1b[0m" if is_coloured(stream, settings.color) else f"{word}:"
    stream.write(f"{shown} {one_line(text)}\n")


__all__ = ["deliver", "deliver_error"]
