"""What holds for all tests."""

from __future__ import annotations

import signal

import pytest


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of the real SGLang stay in one process, for they share one server."""
    for item in items:
        if "engine" in item.path.parent.parts:
            item.add_marker(pytest.mark.xdist_group("sglang"))


@pytest.fixture(scope="session", autouse=True)
def _interruptible() -> None:
    """Ctrl-C works in child processes also where the tests run in the background of a shell, which ignores it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
