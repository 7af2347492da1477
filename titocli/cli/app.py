"""The command line: its global options, and one line for each command."""

from __future__ import annotations

import logging
import os
import sys
from typing import Annotated

import typer

from titocli import __version__
from titocli.cli import (
    families,
    launch_sglang,
    register_family,
    render,
    samples,
    serve_session,
    verify_template,
)
from titocli.cli.command import Command, CommandGroup
from titocli.errors import ConflictingOption
from titocli.report.settings import Color, OutputSettings, Verbosity

EXAMPLES = """
titocli render --family qwen4exp  # what a model of that family sees
titocli families show qwen3  # what titocli keeps and fixes for it
titocli families --json  # the same for a program
"""

_LOG_LEVELS = {
    Verbosity.QUIET: logging.ERROR,
    Verbosity.NORMAL: logging.WARNING,
    Verbosity.INFO: logging.INFO,
    Verbosity.DEBUG: logging.DEBUG,
}

app = typer.Typer(
    cls=CommandGroup,
    epilog=EXAMPLES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"titocli {__version__}\n")
        sys.stdout.flush()
        raise typer.Exit


def _choose_color(context: typer.Context, color: Color) -> Color:
    # Help pages and child processes only know the environment.
    if color is Color.NEVER:
        os.environ["NO_COLOR"] = "1"
        os.environ.pop("FORCE_COLOR", None)
    if color is Color.ALWAYS:
        os.environ["FORCE_COLOR"] = "1"
        os.environ.pop("NO_COLOR", None)
    if isinstance(context.obj, OutputSettings):
        context.obj.color = color
    return color


@app.callback()
def titocli(
    context: typer.Context,
    *,
    _version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
    _color: Annotated[
        Color,
        typer.Option(
            "--color", is_eager=True, callback=_choose_color, help="When to colour (NO_COLOR, FORCE_COLOR)."
        ),
    ] = Color.AUTO,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Only errors on standard error.")] = False,
    verbose: Annotated[
        int, typer.Option("-v", "--verbose", count=True, help="More on standard error; twice for all.")
    ] = 0,
) -> None:
    """Token in, token out, for training language-model agents."""
    verbosity = _verbosity(quiet, verbose)
    if isinstance(context.obj, OutputSettings):
        context.obj.verbosity = verbosity
    _configure_logging(verbosity)


def _configure_logging(verbosity: Verbosity) -> None:
    """titocli's own log lines on standard error; other libraries keep their ways."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    logger = logging.getLogger("titocli")
    logger.handlers[:] = [handler]
    logger.setLevel(_LOG_LEVELS[verbosity])


def _verbosity(quiet: bool, verbose: int) -> Verbosity:
    if quiet and verbose:
        raise ConflictingOption("--quiet and --verbose exclude each other", hint="give one of them")
    return Verbosity.QUIET if quiet else Verbosity(min(verbose, Verbosity.DEBUG))


app.command(cls=Command, epilog=render.EXAMPLES, rich_help_panel="Look")(render.render)
app.add_typer(families.app, rich_help_panel="Look")
app.command(cls=Command, epilog=register_family.EXAMPLES, rich_help_panel="Look")(
    register_family.register_family
)
app.command(cls=Command, epilog=verify_template.EXAMPLES, rich_help_panel="Look")(
    verify_template.verify_template
)
app.command(cls=Command, epilog=serve_session.EXAMPLES, rich_help_panel="Run")(serve_session.serve_session)
app.command(cls=Command, epilog=launch_sglang.EXAMPLES, rich_help_panel="Run")(launch_sglang.launch_sglang)
app.command(cls=Command, epilog=samples.EXAMPLES, rich_help_panel="Run")(samples.samples)


__all__ = ["app"]
