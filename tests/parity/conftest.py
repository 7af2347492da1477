"""The oracle: transformers, as each interpreter at hand has it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.parity.oracle import ORACLE_SCRIPT, Oracle


def oracle_interpreters() -> list[str]:
    """This interpreter, and the one of TITOCLI_ENGINE_PYTHON: the engine pins another transformers."""
    return [sys.executable, *filter(None, [os.environ.get("TITOCLI_ENGINE_PYTHON")])]


@pytest.fixture(
    scope="session",
    params=oracle_interpreters(),
    ids=["own-transformers", "engine-transformers"][: len(oracle_interpreters())],
)
def oracle(request: pytest.FixtureRequest) -> Iterator[Oracle]:
    """transformers' render, by each interpreter that is there."""
    command = [request.param, str(ORACLE_SCRIPT)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Oracle(process)
        process.stdin.close()
