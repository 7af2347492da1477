"""The formats of ``titocli render`` by name, and which one a run uses."""

from __future__ import annotations

from enum import StrEnum

from titocli.errors import ConflictingOption


class Format(StrEnum):
    """How a render is shown."""

    TEXT = "text"
    IDS = "ids"
    TOKENS = "tokens"
    TABLE = "table"
    JSON = "json"


class Compared(StrEnum):
    """What a run compares, by the option that asks for it."""

    NOTHING = ""
    TEMPLATE = "--against"
    FILE = "--check"


_COMPARABLE = {
    Compared.NOTHING: frozenset(Format),
    Compared.TEMPLATE: frozenset((Format.TEXT, Format.JSON)),
    Compared.FILE: frozenset(Format) - {Format.TABLE},
}


def chosen_format(asked: Format | None, *, json_asked: bool, compared: Compared, on_terminal: bool) -> Format:
    """The format of a run: the one asked for, else a table on a terminal and text elsewhere."""
    if json_asked and asked not in (None, Format.JSON):
        raise ConflictingOption(
            f"--json is --format json, but --format {asked} is given", hint="give one of them"
        )
    wanted = Format.JSON if json_asked else asked
    if wanted is None:
        return Format.TABLE if on_terminal and not compared else Format.TEXT
    if wanted not in _COMPARABLE[compared]:
        possible = ", ".join(sorted(_COMPARABLE[compared]))
        raise ConflictingOption(
            f"{compared} does not compare --format {wanted}", hint=f"it compares {possible}"
        )
    return wanted


def compared(against: str | None, check: object | None) -> Compared:
    """What is compared; raises for both at once."""
    if against is not None and check is not None:
        raise ConflictingOption("--against and --check exclude each other", hint="run titocli render twice")
    if against is not None:
        return Compared.TEMPLATE
    return Compared.NOTHING if check is None else Compared.FILE


__all__ = ["Compared", "Format", "chosen_format", "compared"]
