"""Reads a table of plain values member by member, and says in one sentence what is wrong with one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from typing import TypeVar

from titocli.errors import InvalidFamilyFile
from titocli.jsonvalue import JsonObject, JsonValue

Word = TypeVar("Word", bound=StrEnum)
Made = TypeVar("Made")


class TableReader:
    """Takes members out of a table, each once; what is left at the end is unknown."""

    def __init__(self, table: JsonObject, place: str, path: str = "") -> None:
        self._table, self._place, self._path = table, place, path
        self._taken: list[str] = []

    def take(self, name: str, read: Callable[[JsonValue], Made]) -> Made:
        """A member that has to be there."""
        if name not in self._table:
            self._suggest_misspelled(name)
            raise self.wrong(name, "a value", "it is missing")
        self._taken.append(name)
        try:
            return read(self._table[name])
        except Unfit as error:
            raise self.wrong(name, error.wanted) from error

    def take_or(self, name: str, read: Callable[[JsonValue], Made], default: Made) -> Made:
        """A member that may be missing."""
        self._taken.append(name)
        return self.take(name, read) if name in self._table else default

    def section(self, name: str) -> TableReader:
        """A table inside; empty where it is missing."""
        return TableReader(self.take_or(name, table_of, {}), self._place, f"{self._path}{name}.")

    def listed(self, name: str) -> list[TableReader]:
        """A list of tables; empty where it is missing."""
        items = self.take(name, tables_of) if name in self._table else ()
        return [
            TableReader(item, self._place, f"{self._path}{name}[{index}].")
            for index, item in enumerate(items)
        ]

    def refuse_unread(self) -> None:
        """Raise for the first member that nothing took."""
        for name in self._table:
            if name not in self._taken:
                raise self._unknown(name)

    def _suggest_misspelled(self, name: str) -> None:
        for given in self._table:
            if given not in self._taken and get_close_matches(given, [name], cutoff=0.8):
                raise self._unknown(given, name)

    def _unknown(self, name: str, meant: str | None = None) -> InvalidFamilyFile:
        near = [meant] if meant else get_close_matches(name, self._taken, n=1, cutoff=0.5)
        known = f"known: {', '.join(self._taken)}"
        return InvalidFamilyFile(
            f"{self._place}: unknown key {self._path}{name}",
            hint=f"did you mean {near[0]!r}?" if near else known,
            details={"file": self._place, "key": f"{self._path}{name}"},
        )

    def wrong(self, name: str, wanted: str, what: str = "it is not that") -> InvalidFamilyFile:
        """The error for a member that cannot be used."""
        return InvalidFamilyFile(
            f"{self._place}: {self._path}{name} has to be {wanted}: {what}",
            hint="titocli register-family writes these files; titocli families show NAME says what one means",
            details={"file": self._place, "key": f"{self._path}{name}"},
        )


class Unfit(ValueError):
    """A value of another type than it has to be."""

    def __init__(self, wanted: str) -> None:
        super().__init__(wanted)
        self.wanted = wanted


def text_of(value: JsonValue) -> str:
    """Text."""
    if not isinstance(value, str):
        raise Unfit("text")
    return value


def integer_of(value: JsonValue) -> int:
    """A whole number."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise Unfit("a whole number")
    return value


def table_of(value: JsonValue) -> Mapping[str, JsonValue]:
    """A table."""
    if not isinstance(value, Mapping):
        raise Unfit("a table")
    return value


def items_of(value: JsonValue, wanted: str) -> Sequence[JsonValue]:
    """A list; ``wanted`` says of what."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise Unfit(wanted)
    return value


def texts_of(value: JsonValue) -> tuple[str, ...]:
    """A list of texts."""
    items = items_of(value, "a list of texts")
    if not all(isinstance(item, str) for item in items):
        raise Unfit("a list of texts")
    return tuple(map(str, items))


def tables_of(value: JsonValue) -> tuple[Mapping[str, JsonValue], ...]:
    """A list of tables."""
    return tuple(map(table_of, items_of(value, "a list of tables")))


def choices_of(value: JsonValue) -> Mapping[str, tuple[JsonValue, ...]]:
    """Lists of values by name."""
    return {name: tuple(items_of(item, "lists of values")) for name, item in table_of(value).items()}


def ranges_of(value: JsonValue) -> tuple[tuple[float, float], ...]:
    """Pairs of numbers."""
    wanted = "a list of pairs of numbers"
    return tuple(_pair(items_of(item, wanted), wanted) for item in items_of(value, wanted))


def _pair(items: Sequence[JsonValue], wanted: str) -> tuple[float, float]:
    numbers = [item for item in items if isinstance(item, int | float) and not isinstance(item, bool)]
    if len(numbers) != len(items) or len(numbers) != 2:  # noqa: PLR2004 - a pair
        raise Unfit(wanted)
    return numbers[0], numbers[1]


def reasons_of(value: JsonValue) -> Mapping[str, str]:
    """Texts by name."""
    return {name: text_of(item) for name, item in table_of(value).items()}


def word_of(words: type[Word]) -> Callable[[JsonValue], Word]:
    """Reads one of some words."""

    def read(value: JsonValue) -> Word:
        return _among(words, value)

    return read


def words_of(words: type[Word]) -> Callable[[JsonValue], tuple[Word, ...]]:
    """Reads a list of some words."""

    def read(value: JsonValue) -> tuple[Word, ...]:
        return tuple(_among(words, item) for item in items_of(value, f"a list of {_either(words)}"))

    return read


def _among(words: type[Word], value: JsonValue) -> Word:
    found = next((word for word in words if word.value == value), None)
    if found is None:
        raise Unfit(_either(words))
    return found


def _either(words: Iterable[StrEnum]) -> str:
    return " or ".join(word.value for word in words)


__all__ = [
    "TableReader",
    "Unfit",
    "choices_of",
    "integer_of",
    "items_of",
    "ranges_of",
    "reasons_of",
    "table_of",
    "tables_of",
    "text_of",
    "texts_of",
    "word_of",
    "words_of",
]
