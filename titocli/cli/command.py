"""Commands and command groups that end their help in examples and know what a typing error meant.

Typer carries its own copy of Click since 0.26, so nothing here imports ``click`` or names its types.
"""

from __future__ import annotations

from copy import copy
from typing import Any

from typer.core import TyperCommand, TyperGroup

from titocli.errors import UnknownName


class Command(TyperCommand):
    """A command whose epilog is examples, one a line: a command, two spaces, ``# what it does``."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help page, then the examples as they are written."""
        page = copy(self)
        page.epilog = None
        TyperCommand.format_help(page, ctx, formatter)
        _print_examples(self.epilog)


class CommandGroup(TyperGroup):
    """A group of commands, its epilog as in ``Command``."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help page, then the examples as they are written."""
        page = copy(self)
        page.epilog = None
        TyperGroup.format_help(page, ctx, formatter)
        _print_examples(self.epilog)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        """The command that ``args`` name; raises ``UnknownName`` with a suggestion."""
        name = args[0]
        if name not in self.commands and not name.startswith("-") and not ctx.resilient_parsing:
            raise UnknownName.among("command", name, self.commands)
        return super().resolve_command(ctx, args)


def _print_examples(examples: str | None) -> None:
    if not examples:
        return
    # Here, for rich is only loaded for a help page.
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    console.print(Text(" Examples", style="bold"))
    for line in examples.strip().splitlines():
        command, mark, comment = line.partition("  # ")
        console.print(Text.assemble("   ", (command, "cyan"), (mark + comment, "dim")), soft_wrap=True)


__all__ = ["Command", "CommandGroup"]
