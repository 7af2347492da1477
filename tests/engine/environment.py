"""The environment of the real SGLang: a venv of its own, for SGLang pins torch and transformers exactly.

It lies in ``.envs/engine`` of the repository and is built once (two minutes, 2.5 GB); a stamp of the
requirement files says whether it is current.  ``TITOCLI_ENGINE_ENV`` names one that exists already, which is
taken as it is.
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
from pathlib import Path

_HERE = Path(__file__).parent
_REQUIREMENTS = _HERE / "requirements-engine.txt"
_REQUIREMENTS_NO_DEPS = _HERE / "requirements-engine-no-deps.txt"

#: What the CPU engine needs around it.  One thread: more make every request ten times slower here.
CPU_ENV = {
    "PYTHONPATH": str(_HERE / "shim"),
    "SGLANG_USE_CPU_ENGINE": "1",
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "CUDA_VISIBLE_DEVICES": "",
}


class EnvironmentUnavailable(Exception):
    """The environment is not there and could not be built."""


def engine_environment() -> Path:
    """The Python of a current environment, built if need be; raises ``EnvironmentUnavailable``."""
    given = os.environ.get("TITOCLI_ENGINE_ENV")
    folder = Path(given) if given else _HERE.parents[1] / ".envs" / "engine"
    python = folder / "bin" / "python"
    if given and not python.exists():
        raise EnvironmentUnavailable("TITOCLI_ENGINE_ENV names no environment")
    if not given:
        with _locked(folder.with_suffix(".lock")):
            _bring_up_to_date(folder)
    return python


def _bring_up_to_date(folder: Path) -> None:
    stamp, current = folder / "titocli-stamp", _stamp()
    if stamp.is_file() and stamp.read_text() == current:
        return
    shutil.rmtree(folder, ignore_errors=True)
    python = str(folder / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([sys.executable, "-m", "venv", str(folder)])
    _run([*install, "-r", str(_REQUIREMENTS)])
    _run([*install, "--no-deps", "-r", str(_REQUIREMENTS_NO_DEPS)])
    stamp.write_text(current)


def _stamp() -> str:
    content = sys.version.encode() + _REQUIREMENTS.read_bytes() + _REQUIREMENTS_NO_DEPS.read_bytes()
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


__all__ = ["CPU_ENV", "EnvironmentUnavailable", "engine_environment"]


if __name__ == "__main__":
    sys.stdout.write(f"SGLang's Python: {engine_environment()}\n")
