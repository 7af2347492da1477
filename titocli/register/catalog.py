"""All families that there are: built in, registered for the project, for the user, and of plugins.

Built in wins over project, project over user, user over plugins.  Nothing is read before it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from titocli.errors import TitoError, UnknownName
from titocli.families.family import Family
from titocli.families.registry import BUILT_IN, all_contracts, get_family
from titocli.register.family_file import family_file, family_names, read_family
from titocli.register.plugins import PluginFamilies, plugin_families
from titocli.register.scope import Scope


@dataclass(frozen=True, kw_only=True)
class Catalog:
    """The families of one run; ``folders`` are the places of registered ones, the first counts first."""

    folders: tuple[tuple[Scope, Path], ...] = ()
    load_plugins: Callable[[], PluginFamilies] = plugin_families

    @cached_property
    def _plugins(self) -> PluginFamilies:
        return self.load_plugins()

    def get(self, name: str, variant: str | None = None) -> Family:
        """The family of that name, as one of its variants where one is named.

        Raises ``UnknownName`` with a suggestion, ``InvalidFamilyFile`` for a registered one that was broken.
        """
        if name in BUILT_IN:
            return get_family(name, variant)
        family = self._registered(name) or self._of_plugin(name)
        if family is None:
            raise self._unknown(name)
        if variant is None or variant == family.variant:
            return family
        if variant not in family.variants:
            known = {*family.variants, family.variant or name}
            raise UnknownName.among(f"variant of {name}", variant, known)
        return family.variants[variant]

    def _unknown(self, name: str) -> UnknownName:
        error = UnknownName.among("family", name, self.names())
        if self._plugins.problems:
            error.hint = "; ".join((error.hint or "", *self._plugins.problems))
        return error

    def names(self) -> tuple[str, ...]:
        """The names of all families, each once; built-in ones first."""
        registered = (name for _, folder in self.folders for name in family_names(folder))
        plugins = (family.name for family in self._plugins.families)
        return tuple(dict.fromkeys((*BUILT_IN, *registered, *plugins)))

    def added(self) -> tuple[Family, ...]:
        """The families that are not built in and can be used."""
        return tuple(one for one in self._tried() if isinstance(one, Family))

    def contracts(self) -> tuple[Family, ...]:
        """Every family and every variant of it, each a contract of its own; built-in ones first."""
        added = (each for family in self.added() for each in (family, *family.variants.values()))
        return (*all_contracts(), *added)

    def problems(self) -> tuple[str, ...]:
        """A sentence about each registered family and plugin that cannot be used."""
        broken = (one.message for one in self._tried() if isinstance(one, TitoError))
        return (*broken, *self._plugins.problems)

    def _tried(self) -> Iterator[Family | TitoError]:
        for name in self.names():
            if name not in BUILT_IN:
                try:
                    yield self.get(name)
                except TitoError as error:
                    yield error

    def _registered(self, name: str) -> Family | None:
        for scope, folder in self.folders:
            path = family_file(folder, name)
            if path is not None:
                return read_family(path, scope)
        return None

    def _of_plugin(self, name: str) -> Family | None:
        return next((family for family in self._plugins.families if family.name == name), None)


__all__ = ["Catalog"]
