"""How many conversations the tests generate for each contract."""

from __future__ import annotations

import os

#: What CI runs; ``TITOCLI_GENERATED=5000`` asks for more.
DEFAULT_COUNT = 1_000


def generated_count() -> int:
    """Conversations for each contract."""
    return int(os.environ.get("TITOCLI_GENERATED", DEFAULT_COUNT))
