"""The environment of the real SGLang, which pins torch and transformers exactly: two minutes, 2.5 GB."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.pinned_environment import EnvironmentUnavailable, PinnedEnvironment

_HERE = Path(__file__).parent
ENGINE = PinnedEnvironment(
    name="engine",
    requirements=_HERE / "requirements-engine.txt",
    no_deps=(_HERE / "requirements-engine-no-deps.txt",),
)

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


def engine_environment() -> Path:
    """The Python of a current environment, built if need be; raises ``EnvironmentUnavailable``."""
    return ENGINE.python()


__all__ = ["CPU_ENV", "ENGINE", "EnvironmentUnavailable", "engine_environment"]


if __name__ == "__main__":
    sys.stdout.write(f"SGLang's Python: {engine_environment()}\n")
