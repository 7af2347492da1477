"""Where titocli keeps files of its own, on each system."""

from __future__ import annotations

from pathlib import Path

import platformdirs


def engine_log(port: int) -> Path:
    """The log of an engine that titocli starts on a port."""
    return Path(platformdirs.user_log_dir("titocli", appauthor=False)) / f"sglang-{port}.log"


__all__ = ["engine_log"]
