"""A bug in titocli: its traceback goes to a file, the user gets its path."""

from __future__ import annotations

import os
import platform
import tempfile
import time
import traceback
from pathlib import Path

import titocli
from titocli.errors import InternalError


def internal_error(error: Exception) -> InternalError:
    """The error to show for an exception that nobody expected, its traceback written to a file."""
    path = _write_report(error)
    return InternalError(
        f"this is a bug in titocli ({type(error).__name__})",
        hint=f"please report it with {path}",
        details={"file": str(path), "exception": type(error).__name__},
    )


def _write_report(error: Exception) -> Path:
    name = f"crash-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    report = _report(error)
    for folder in _folders():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(report, encoding="utf-8", errors="replace")
        except OSError:
            continue
        return folder / name
    return Path(os.devnull)


def _folders() -> tuple[Path, ...]:
    # Here, for only a crash needs it.
    import platformdirs  # noqa: PLC0415

    return platformdirs.user_state_path("titocli") / "crashes", Path(tempfile.gettempdir())


def _report(error: Exception) -> str:
    lines = "".join(traceback.format_exception(error))
    return (
        f"titocli {titocli.__version__}, Python {platform.python_version()}, {platform.platform()}\n\n{lines}"
    )


__all__ = ["internal_error"]
