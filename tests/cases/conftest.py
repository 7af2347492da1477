"""Fixtures of the command line's tests, for the cases about it."""

from tests.cli.conftest import run

__all__ = ["run"]
