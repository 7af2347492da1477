"""Where titocli keeps files of its own, on each system."""

from __future__ import annotations

from pathlib import Path

import platformdirs

_PROJECT_FILE, _PROJECT_FOLDER = "titocli.toml", ".titocli"


def engine_log(port: int) -> Path:
    """The log of an engine that titocli starts on a port."""
    return Path(platformdirs.user_log_dir("titocli", appauthor=False)) / f"sglang-{port}.log"


def user_families() -> Path:
    """The folder of the families that a user registered for all projects."""
    return Path(platformdirs.user_config_dir("titocli", appauthor=False)) / "families"


def project_families(start: Path) -> Path | None:
    """The folder of the families of the project around ``start``, the nearest one; None outside of projects.

    A project is a folder with ``titocli.toml`` or ``.titocli``.
    """
    for folder in (start, *start.parents):
        if (folder / _PROJECT_FILE).is_file() or (folder / _PROJECT_FOLDER).is_dir():
            return folder / _PROJECT_FOLDER / "families"
    return None


def new_project_families(start: Path) -> Path:
    """The same, or that of a project that begins at ``start`` itself."""
    return project_families(start) or start / _PROJECT_FOLDER / "families"


__all__ = ["engine_log", "new_project_families", "project_families", "user_families"]
