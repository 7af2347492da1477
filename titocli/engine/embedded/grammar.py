"""Regular expressions over bytes, matched by Brzozowski derivatives.

The derivative of a language by a byte is what may follow that byte: to match is to derive byte by byte and
to ask at the end whether the empty text is left (Brzozowski, "Derivatives of Regular Expressions", 1964).
Expressions are built by the lower-case functions, which keep them simplified, so that ``NEVER`` is the only
expression of the empty language.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

#: Every byte value.
ANY_BYTE = frozenset(range(256))


class Expr(ABC):
    """A set of byte strings."""

    __slots__ = ()

    @property
    @abstractmethod
    def nullable(self) -> bool:
        """Whether the empty string belongs to it."""

    @property
    @abstractmethod
    def first(self) -> frozenset[int]:
        """Exactly the bytes that can come next."""

    @abstractmethod
    def derive(self, byte: int) -> Expr:
        """What may follow ``byte``; ``NEVER`` where that byte cannot come."""


@dataclass(frozen=True, slots=True)
class Choice(Expr):
    """Any of the options; without options the empty language."""

    options: frozenset[Expr]

    @property
    def nullable(self) -> bool:
        """Whether one option is nullable."""
        return any(option.nullable for option in self.options)

    @property
    def first(self) -> frozenset[int]:
        """The first bytes of all options."""
        return frozenset().union(*(option.first for option in self.options))

    def derive(self, byte: int) -> Expr:
        """The choice of the options' derivatives."""
        return choice(*(option.derive(byte) for option in self.options))


@dataclass(frozen=True, slots=True)
class Literal(Expr):
    """Exactly ``data``; without data the empty text."""

    data: bytes

    @property
    def nullable(self) -> bool:
        """Whether nothing is left of it."""
        return not self.data

    @property
    def first(self) -> frozenset[int]:
        """Its one first byte, if any."""
        return frozenset(self.data[:1])

    def derive(self, byte: int) -> Expr:
        """The rest of the text."""
        return Literal(self.data[1:]) if self.data[:1] == bytes((byte,)) else NEVER


@dataclass(frozen=True, slots=True)
class OneOf(Expr):
    """One byte of a class."""

    members: frozenset[int]

    @property
    def nullable(self) -> bool:
        """Never: it is one byte long."""
        return False

    @property
    def first(self) -> frozenset[int]:
        """The class."""
        return self.members

    def derive(self, byte: int) -> Expr:
        """The empty text, for a member."""
        return EMPTY if byte in self.members else NEVER


@dataclass(frozen=True, slots=True)
class Sequence(Expr):
    """One after the other: two or more items."""

    items: tuple[Expr, ...]

    @property
    def nullable(self) -> bool:
        """Whether all items are nullable."""
        return all(item.nullable for item in self.items)

    @property
    def first(self) -> frozenset[int]:
        """The first bytes of the items up to the first that is not nullable."""
        found: frozenset[int] = frozenset()
        for item in self.items:
            found |= item.first
            if not item.nullable:
                break
        return found

    def derive(self, byte: int) -> Expr:
        """The derivative of the first item, or of what follows items that are skipped as empty."""
        derived: list[Expr] = []
        for index, item in enumerate(self.items):
            derived.append(sequence(item.derive(byte), *self.items[index + 1 :]))
            if not item.nullable:
                break
        return choice(*derived)


@dataclass(frozen=True, slots=True)
class Repeat(Expr):
    """Between ``least`` and ``most`` times ``item``; ``most`` None is without end."""

    item: Expr
    least: int
    most: int | None

    @property
    def nullable(self) -> bool:
        """Whether it may be left out, or repeats something that may."""
        return self.least == 0 or self.item.nullable

    @property
    def first(self) -> frozenset[int]:
        """The first bytes of the item."""
        return self.item.first

    def derive(self, byte: int) -> Expr:
        """The derivative of one item, then the remaining repetitions."""
        most = None if self.most is None else self.most - 1
        return sequence(self.item.derive(byte), repeat(self.item, max(self.least - 1, 0), most))


@dataclass(frozen=True, slots=True)
class Until(Expr):
    """The shortest text that ends with ``marker``; its first ``matched`` bytes were just read."""

    marker: bytes
    matched: int = 0

    @property
    def nullable(self) -> bool:
        """Never: the marker has yet to end."""
        return False

    @property
    def first(self) -> frozenset[int]:
        """Every byte."""
        return ANY_BYTE

    def derive(self, byte: int) -> Expr:
        """The empty text once the marker is complete, else the longest match that still can be one."""
        seen = self.marker[: self.matched] + bytes((byte,))
        matched = next(n for n in range(len(seen), -1, -1) if seen.endswith(self.marker[:n]))
        return EMPTY if matched == len(self.marker) else Until(self.marker, matched)


NEVER: Expr = Choice(frozenset())
EMPTY: Expr = Literal(b"")


def literal(text: str | bytes) -> Expr:
    """Exactly that text, in UTF-8."""
    return Literal(text.encode() if isinstance(text, str) else text)


def one_of(members: str | Iterable[int]) -> Expr:
    """One byte of the ASCII characters or byte values given."""
    found = frozenset(members.encode("ascii") if isinstance(members, str) else members)
    return OneOf(found) if found else NEVER


def choice(*options: Expr) -> Expr:
    """Any of the options; nested choices are flattened, duplicates dropped."""
    flat: set[Expr] = set()
    for option in options:
        flat.update(option.options if isinstance(option, Choice) else (option,))
    return flat.pop() if len(flat) == 1 else Choice(frozenset(flat))


def sequence(*items: Expr) -> Expr:
    """One after the other; nested sequences are flattened, empty items dropped."""
    flat: list[Expr] = []
    for item in items:
        if item == NEVER:
            return NEVER
        flat.extend(item.items if isinstance(item, Sequence) else () if item == EMPTY else (item,))
    if len(flat) < 2:  # noqa: PLR2004 (a sequence proper has two items)
        return flat[0] if flat else EMPTY
    return Sequence(tuple(flat))


def repeat(item: Expr, least: int, most: int | None) -> Expr:
    """Between ``least`` and ``most`` times ``item``; ``most`` None is without end."""
    if most == 0 or item == EMPTY:
        return EMPTY
    if item == NEVER:
        return EMPTY if least == 0 else NEVER
    return Repeat(item, least, most)


def optional(item: Expr) -> Expr:
    """The item or nothing."""
    return choice(EMPTY, item)


__all__ = [
    "ANY_BYTE",
    "EMPTY",
    "NEVER",
    "Expr",
    "Until",
    "choice",
    "literal",
    "one_of",
    "optional",
    "repeat",
    "sequence",
]
