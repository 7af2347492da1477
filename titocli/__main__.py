"""The entry point: ``titocli`` and ``python -m titocli``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress

from titocli import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (``sys.argv`` when None); returns the exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    if words == ["--version"] and sys.stdout is not None:
        with suppress(OSError):
            print(f"titocli {__version__}", flush=True)
            return 0
    # After the version: Typer alone takes longer than that answer.
    from titocli.cli.run import run
    from titocli.report.streams import replace_closed

    replace_closed()
    return run(words)


if __name__ == "__main__":
    sys.exit(main())
