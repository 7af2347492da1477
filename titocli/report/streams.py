"""Standard output and standard error, which may be full, or closed before the program begins."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from io import UnsupportedOperation
from pathlib import Path
from typing import TextIO

from titocli.errors import UnwritableOutput

_NO_ROOM = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO))


def replace_closed() -> None:
    """Put something in the place of streams that are closed: messages are dropped, a result is refused."""
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - open as long as we run
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 - to be read only


def unwritable(error: Exception) -> UnwritableOutput | None:
    """The error for output that found no room or no taker; None where ``error`` is something else."""
    if isinstance(error, UnsupportedOperation) and not sys.stdout.writable():
        return UnwritableOutput("cannot write: standard output is closed", hint="redirect it to a file")
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return UnwritableOutput(f"cannot write: {os.strerror(error.errno)}", hint="make room, and try again")
    return None


def abandon(*streams: TextIO) -> None:
    """Drop what these streams still hold: at exit Python would try to write it, and complain."""
    for stream in streams:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


__all__ = ["abandon", "replace_closed", "unwritable"]
