"""Text for a model, made visible to a person: nothing hidden, nothing interpreted."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

#: Control tokens and tags, as most chat templates write them.
_CONTROL_TOKENS = r"<\|[^|<>\s]{1,40}\|>|</?[A-Za-z_][\w=.-]{0,60}>"


def escaped(text: str) -> str:
    """``text`` with every character that would not show as itself written as its escape."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def one_line(text: str) -> str:
    """A sentence on one line, with its control characters escaped and lone surrogates replaced."""
    return escaped(" ".join(text.split("\n"))).encode("utf-8", "replace").decode()


def visible(text: str, limit: int) -> Text:
    """``text`` in about ``limit`` characters, cut in the middle; newlines as ⏎, other escapes dimmed."""
    # Here, for rich is only loaded where something is drawn.
    from rich.text import Text  # noqa: PLC0415

    shown = Text()
    if len(text) <= limit:
        _append(shown, text)
    else:
        tail = limit // 3
        _append(shown, text[: limit - tail])
        shown.append(f" … {len(text) - limit:,} more characters … ", style="dim italic")
        _append(shown, text[-tail:])
    shown.highlight_regex(_CONTROL_TOKENS, style="cyan")
    return shown


def _append(shown: Text, text: str) -> None:
    for printable, run in groupby(text, key=str.isprintable):
        if printable:
            shown.append("".join(run))
        else:
            shown.append("".join("⏎" if char == "\n" else escaped(char) for char in run), style="magenta")


__all__ = ["escaped", "one_line", "visible"]
