"""What holds for all tests."""

from __future__ import annotations

import signal

import pytest


@pytest.fixture(scope="session", autouse=True)
def _interruptible() -> None:
    """Ctrl-C works in child processes also where the tests run in the background of a shell, which ignores it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
