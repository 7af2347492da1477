"""What the shell proposes for values that titocli knows."""

from __future__ import annotations


def family_names(incomplete: str) -> list[tuple[str, str]]:
    """The families whose names begin so, registered ones too, each with its summary."""
    from titocli.cli.known_families import known_families
    from titocli.families.registry import BUILT_IN

    families = [*BUILT_IN.values(), *known_families().added()]
    return [(family.name, family.summary) for family in families if family.name.startswith(incomplete)]


def family_choices(incomplete: str) -> list[tuple[str, str]]:
    """The same where a checkpoint may decide."""
    auto = [("auto", "the family of the checkpoint, by its template or config")]
    return [*(one for one in auto if one[0].startswith(incomplete)), *family_names(incomplete)]


__all__ = ["family_choices", "family_names"]
