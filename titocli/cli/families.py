"""``titocli families``: what titocli knows about each line of models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from titocli.cli.command import Command, CommandGroup
from titocli.cli.completion import family_names
from titocli.report.result import Envelope, Result

if TYPE_CHECKING:
    from titocli.families.family import Family

EXAMPLES = """
titocli families  # every family in one table
titocli families show qwen4exp  # all of one family
titocli families check Qwen3  # which family a checkpoint belongs to
titocli families --json  # everything, for programs
"""
_LIST_EXAMPLES = """
titocli families list
titocli families list --json
"""
_SHOW_EXAMPLES = """
titocli families show qwen4exp
titocli families show qwen3 --json
titocli families show qwen35 --variant small
"""
_CHECK_EXAMPLES = """
titocli families check Qwen3  # a directory or a Hugging Face id
titocli families check Qwen3 --json
"""

app = typer.Typer(
    name="families", cls=CommandGroup, epilog=EXAMPLES, invoke_without_command=True, rich_markup_mode="rich"
)

Json = Annotated[bool, typer.Option("--json", help="One JSON document.", rich_help_panel="Output")]


@app.callback()
def families(context: typer.Context, *, json: Json = False) -> Result | None:
    """List the families, or show one of them."""
    return _list(json) if context.invoked_subcommand is None else None


@app.command("list", cls=Command, epilog=_LIST_EXAMPLES)
def list_families(context: typer.Context, *, json: Json = False) -> Result:
    """List every family."""
    return _list(json or _asked_of_group(context))


@app.command("show", cls=Command, epilog=_SHOW_EXAMPLES)
def show_family(
    context: typer.Context,
    name: Annotated[str, typer.Argument(autocompletion=family_names, help="The family.", show_default=False)],
    *,
    variant: Annotated[
        str | None, typer.Option("--variant", metavar="NAME", help="One variant of it.", show_default=False)
    ] = None,
    json: Json = False,
) -> Result:
    """Show all of one family: checkpoints, template, kwargs, roles, boundary, parsers, deviations."""
    from titocli.cli.known_families import known_families
    from titocli.report.family_data import family_data
    from titocli.report.family_page import draw_family

    data = family_data(known_families().get(name, variant))
    return Result(body=Envelope({"family": data}) if json or _asked_of_group(context) else draw_family(data))


@app.command("check", cls=Command, epilog=_CHECK_EXAMPLES)
def check_checkpoint(
    context: typer.Context,
    checkpoint: Annotated[
        str,
        typer.Argument(
            metavar="DIR|HF_ID", help="A checkpoint's directory or Hugging Face id.", show_default=False
        ),
    ],
    *,
    examples: Annotated[
        int,
        typer.Option(
            "--examples", min=1, metavar="N", help="Conversations to compare an unknown template by."
        ),
    ] = 200,
    json: Json = False,
) -> Result:
    """Say which family a checkpoint belongs to, or what its unknown template resembles (exit 1)."""
    from titocli.cli.family_check import check_result

    return check_result(checkpoint, examples, json=json or _asked_of_group(context))


def _asked_of_group(context: typer.Context) -> bool:
    """Whether ``--json`` stands before the subcommand."""
    return context.parent is not None and bool(context.parent.params.get("json"))


def _list(json: bool) -> Result:
    from titocli.cli.known_families import family_problems, known_families
    from titocli.families.registry import BUILT_IN
    from titocli.report.family_data import family_data
    from titocli.report.family_page import draw_families

    catalog = known_families()
    families: list[Family] = [*BUILT_IN.values(), *catalog.added()]
    data = [family_data(family) for family in families]
    body = Envelope({"families": data}) if json else draw_families(data)
    return Result(body=body, warnings=family_problems(catalog))


__all__ = ["EXAMPLES", "app"]
