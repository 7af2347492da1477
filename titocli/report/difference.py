"""Unified differences of texts for a model; only ``\\n`` ends a line."""

from __future__ import annotations

from difflib import unified_diff

_NO_NEWLINE = "\\ No newline at end of file\n"


def unified(before: str, after: str, before_name: str, after_name: str) -> str:
    """The unified difference, "" for equal texts."""
    lines = unified_diff(_lines(before), _lines(after), before_name, after_name)
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}" for line in lines)


def _lines(text: str) -> list[str]:
    # str.splitlines would also split at the separators that occur inside model text.
    *whole, last = text.split("\n")
    return [f"{line}\n" for line in whole] + ([last] if last else [])


__all__ = ["unified"]
