"""The entry point: ``titocli`` and ``python -m titocli``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from titocli import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (``sys.argv`` when None); returns the exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    if words == ["--version"]:
        print(f"titocli {__version__}")
        return 0
    # After the version: Typer alone takes longer than that answer.
    from titocli.cli.run import run

    return run(words)


if __name__ == "__main__":
    sys.exit(main())
