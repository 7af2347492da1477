"""The environment of clients that titocli does not depend on (litellm), and of the request fuzzer."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.pinned_environment import PinnedEnvironment

AGENTS = PinnedEnvironment(name="agents", requirements=Path(__file__).with_name("requirements.txt"))


if __name__ == "__main__":
    sys.stdout.write(f"the agents' Python: {AGENTS.python()}\n")
