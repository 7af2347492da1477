"""Families that installed packages bring: entry points of the group ``titocli.families``.

An entry point is a ``Family``, a list of them, or a function that gives either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from titocli.families.family import Family
from titocli.families.registry import BUILT_IN

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "titocli.families"


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginFamilies:
    """What the installed packages bring, and a sentence about each that cannot be used."""

    families: tuple[Family, ...] = ()
    problems: tuple[str, ...] = ()


def plugin_families() -> PluginFamilies:
    """All families of all entry points; a broken one is told, never raised."""
    # Here, for it costs more than most commands.
    from importlib.metadata import entry_points  # noqa: PLC0415

    families: dict[str, Family] = {}
    problems = []
    for point in sorted(entry_points(group=GROUP), key=lambda one: (one.name, one.value)):
        try:
            found = list(_families(point))
        except Exception as error:  # noqa: BLE001 - a package of somebody else can raise anything
            problems.append(f"{_called(point)} cannot be used: {_why(error)}")
            continue
        for family in found:
            if family.name in BUILT_IN or family.name in families:
                problems.append(f"{_called(point)} has a family {family.name!r}, a name that is taken")
            else:
                families[family.name] = family
    return PluginFamilies(families=tuple(families.values()), problems=tuple(problems))


def _families(point: EntryPoint) -> Iterator[Family]:
    given = point.load()
    made = given() if callable(given) else given
    listed: Sequence[object] = made if isinstance(made, list | tuple) else [made]
    for family in listed:
        if not isinstance(family, Family):
            raise TypeError(f"it gives a {type(family).__name__}, not a Family")
        if family.template is not None and not Path(family.template).is_file():
            raise TypeError(f"the template of its family {family.name!r} is not the path of a file")
        yield replace(family, origin=f"plugin {point.dist.name}" if point.dist else "plugin")


def _called(point: EntryPoint) -> str:
    package = f" of {point.dist.name}" if point.dist else ""
    return f"the family plugin {point.name!r}{package}"


def _why(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


__all__ = ["GROUP", "PluginFamilies", "plugin_families"]
