"""The families of one run of the command line: built in, registered here or for the user, of plugins."""

from __future__ import annotations

from pathlib import Path

from titocli.config.paths import project_families, user_families
from titocli.register.catalog import Catalog
from titocli.register.scope import Scope
from titocli.report.result import Notice


def known_families() -> Catalog:
    """All families as they are now; nothing is read before it is asked for."""
    project = project_families(Path.cwd())
    found = () if project is None else ((Scope.PROJECT, project),)
    return Catalog(folders=(*found, (Scope.USER, user_families())))


def family_problems(catalog: Catalog) -> tuple[Notice, ...]:
    """A warning for each registered family and plugin that cannot be used."""
    return tuple(Notice(code="broken_family", message=sentence) for sentence in catalog.problems())


__all__ = ["family_problems", "known_families"]
