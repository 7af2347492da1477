"""Typer's usage errors in titocli's own words."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

import typer

from titocli.cli.completion import family_names
from titocli.errors import InvalidOption, UnknownName, UsageError

#: The base of what Typer raises for a command line.  Typer 0.16 takes it from Click, 0.26 and later carry
#: their own; both export its grandchild.
CLICK_ERROR: type[Exception] = typer.BadParameter.__mro__[2]


def usage_error(error: Any, command: str) -> UsageError | None:
    """The same error with a sentence and a hint; None when its help page was already printed.

    ``command`` is the page to name where the error does not say.
    """
    if type(error).__name__ == "NoArgsIsHelpError":
        return None
    context = getattr(error, "ctx", None)
    fallback = command if command == "titocli" else f"titocli {command}"
    page = f"see {context.command_path if context else fallback} --help"
    if hasattr(error, "possibilities"):
        return _unknown_option(error.option_name, _options(context), page)
    return InvalidOption(_sentence(error.format_message()), hint=_hint(error, page))


def _unknown_option(name: str, options: list[str], page: str) -> UnknownName:
    near = get_close_matches(name, options, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}? ({page})" if near else page
    return UnknownName(f"unknown option {name}", hint=hint, details={"kind": "option", "name": name})


def _options(context: Any) -> list[str]:
    params = context.command.get_params(context) if context else []
    return [option for param in params for option in (*param.opts, *param.secondary_opts)]


def _sentence(message: str) -> str:
    words = " ".join(message.split()).replace(": Value error, ", ": ").rstrip(".")
    return words[:1].lower() + words[1:]


def _hint(error: Any, page: str) -> str:
    if getattr(getattr(error, "param", None), "name", None) == "family":
        return f"families: {', '.join(name for name, _ in family_names(''))} ({page})"
    return page


__all__ = ["CLICK_ERROR", "usage_error"]
