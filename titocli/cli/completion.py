"""What the shell proposes for values that titocli knows."""

from __future__ import annotations


def family_names(incomplete: str) -> list[tuple[str, str]]:
    """The families whose names begin so, each with its summary."""
    from titocli.families.registry import BUILT_IN

    return [(name, family.summary) for name, family in BUILT_IN.items() if name.startswith(incomplete)]


__all__ = ["family_names"]
