"""Whether a server still takes new turns."""

from __future__ import annotations

from titocli.errors import ServerDraining

#: Seconds after which a refused client may try again: another server may be there by then.
RETRY_AFTER_SECONDS = 5


class Drain:
    """Open until ``begin``; then what is under way finishes and nothing new begins."""

    def __init__(self) -> None:
        self.draining = False

    def begin(self) -> None:
        """Take no new sessions and turns from now on."""
        self.draining = True

    def refuse(self) -> None:
        """Raise ``ServerDraining`` when the server is ending."""
        if self.draining:
            raise ServerDraining(
                "this server is ending and takes no new turns",
                hint="use another server; samples of sessions here can still be collected",
                details={"retry_after_seconds": RETRY_AFTER_SECONDS},
            )


__all__ = ["RETRY_AFTER_SECONDS", "Drain"]
