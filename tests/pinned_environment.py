"""Virtual environments of their own for tests: what they need does not fit into titocli's own.

One lies in ``.envs/NAME`` of the repository and is built once; a stamp of its requirement files says whether
it is current.  The environment variable ``TITOCLI_NAME_ENV`` names one that exists already, which is taken as
it is.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_REPOSITORY = Path(__file__).parents[1]


class EnvironmentUnavailable(Exception):
    """The environment is not there and could not be built."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedEnvironment:
    """An environment made of requirement files; those in ``no_deps`` come without what they ask for."""

    name: str
    requirements: Path
    no_deps: tuple[Path, ...] = ()

    def python(self) -> Path:
        """The Python of a current environment, built if need be; raises ``EnvironmentUnavailable``."""
        variable = f"TITOCLI_{self.name.upper()}_ENV"
        given = os.environ.get(variable)
        folder = Path(given) if given else _REPOSITORY / ".envs" / self.name
        python = folder / "bin" / "python"
        if given and not python.exists():
            raise EnvironmentUnavailable(f"{variable} names no environment")
        if not given:
            with _locked(folder.with_suffix(".lock")):
                self._bring_up_to_date(folder)
        return python

    def _bring_up_to_date(self, folder: Path) -> None:
        stamp, current = folder / "titocli-stamp", self._stamp()
        if stamp.is_file() and stamp.read_text() == current:
            return
        shutil.rmtree(folder, ignore_errors=True)
        install = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        install.append("--disable-pip-version-check")
        _run([sys.executable, "-m", "venv", str(folder)])
        _run([*install, "-r", str(self.requirements)])
        for file in self.no_deps:
            _run([*install, "--no-deps", "-r", str(file)])
        stamp.write_text(current)

    def _stamp(self) -> str:
        files = (self.requirements, *self.no_deps)
        content = sys.version.encode() + b"".join(file.read_bytes() for file in files)
        return hashlib.sha256(content).hexdigest()


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EnvironmentUnavailable(f"{' '.join(command[1:4])} failed: {done.stderr.strip()[-500:]}")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One builder at a time, also across test processes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


__all__ = ["EnvironmentUnavailable", "PinnedEnvironment"]
