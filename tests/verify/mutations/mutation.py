"""Mistakes in templates: each an edit of one of titocli's own, as somebody might make it.

A mutation replaces ``old`` by ``new``, which stands ``times`` times in the template of ``family`` (``name`` or
``name:variant``).  ``imitates`` says whose mistake it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Known(StrEnum):
    """What it takes to see that the edit is a mistake."""

    #: The family's contract.
    CONTRACT = "contract"
    #: The template as it was: the edit gives another format that is sound in itself.
    ORIGINAL = "original"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """One edit."""

    family: str
    name: str
    imitates: str
    old: str
    new: str
    times: int = 1
    known: Known = Known.CONTRACT

    @property
    def id(self) -> str:
        """Its name in a test's output."""
        return f"{self.family} {self.name}"


def of(family: str, *edits: tuple[str, str, str, str]) -> tuple[Mutation, ...]:
    return tuple(
        Mutation(family=family, name=name, imitates=imitates, old=old, new=new)
        for name, imitates, old, new in edits
    )


def against(family: str, *edits: tuple[str, str, str, str]) -> tuple[Mutation, ...]:
    return tuple(
        Mutation(family=family, name=name, imitates=imitates, old=old, new=new, known=Known.ORIGINAL)
        for name, imitates, old, new in edits
    )


__all__ = ["Known", "Mutation", "against", "of"]
