"""The oracle: transformers, in two versions.

The test environment has the newest that titocli was tested with, the engine's environment the one that SGLang
pins (5.19): template environments change between versions.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.assets import unavailable
from tests.engine.environment import EnvironmentUnavailable, engine_environment
from tests.parity.oracle import Oracle, running_transformers


def engine_python() -> str:
    try:
        return str(engine_environment())
    except EnvironmentUnavailable as error:
        unavailable(str(error))


@pytest.fixture(scope="session", params=["own-transformers", "engine-transformers"])
def oracle(request: pytest.FixtureRequest) -> Iterator[Oracle]:
    """transformers' render, by each of the two versions."""
    python = sys.executable if request.param == "own-transformers" else engine_python()
    with running_transformers(python) as running:
        yield running
