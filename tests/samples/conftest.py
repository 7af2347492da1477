"""Transcripts as the tests of sessions have them."""

from tests.session.conftest import linear, tree

__all__ = ["linear", "tree"]
