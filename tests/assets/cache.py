"""The cache folder: files by name, each accepted by its SHA-256."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def cache_folder() -> Path:
    """Where the files are kept."""
    chosen = os.environ.get("TITOCLI_TEST_CACHE")
    return Path(chosen) if chosen else Path(__file__).parents[2] / ".cache" / "assets"


def cached(name: str, sha256: str, make: Callable[[], bytes]) -> Path:
    """The file ``name`` of the cache, made first where it is not there or has another hash."""
    path = found(name, sha256)
    if path is not None:
        return path
    content = make()
    actual = hashlib.sha256(content).hexdigest()
    assert actual == sha256, f"{name} has another hash than expected: {actual}"
    path = cache_folder() / name
    write(path, content)
    return path


def found(name: str, sha256: str) -> Path | None:
    """The file ``name`` of the cache if it is there with that hash."""
    path = cache_folder() / name
    if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256:
        return path
    return None


def write(path: Path, content: bytes) -> None:
    """Whole or not at all, for other processes read the same cache."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".part-", delete=False) as part:
        part.write(content)
    Path(part.name).replace(path)
