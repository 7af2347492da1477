"""``titocli verify-template``: proves that a template keeps its contract, or shows where it does not."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from titocli.cli.completion import family_names
from titocli.families.family import Role
from titocli.report.result import Result
from titocli.report.settings import OutputSettings

EXAMPLES = """
titocli verify-template qwen3  # a family, by its own template
titocli verify-template glm47:5.1 --select append-only
titocli verify-template chat_template.jinja --kwarg clear_thinking=false
titocli verify-template fixed.jinja --family qwen3 --against native.jinja
titocli verify-template Qwen3 --tokenizer Qwen3 --against hf
titocli verify-template qwen3 --cases failing.json --json
titocli verify-template --all --report junit --output verify.xml
titocli verify-template --list-checks
titocli verify-template --explain append-only
"""


class Report(StrEnum):
    """How the outcome is written."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"
    HTML = "html"
    GITHUB = "github"


class ThinkingOption(StrEnum):
    """``--thinking``."""

    OFF = "off"
    ON = "on"
    BOTH = "both"


def verify_template(
    context: typer.Context,
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="FAMILY|TEMPLATE.jinja|DIR",
            autocompletion=family_names,
            help="A family (NAME or NAME:VARIANT), a template's file, or a checkpoint's directory.",
            show_default=False,
        ),
    ] = None,
    *,
    all_families: Annotated[
        bool, typer.Option("--all", help="Every family and variant.", rich_help_panel="Target")
    ] = False,
    family: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Hold a template's file to this family.", rich_help_panel="Target"),
    ] = None,
    variant: Annotated[
        str | None, typer.Option(metavar="NAME", help="The family's variant.", rich_help_panel="Target")
    ] = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|FILE|HF_ID",
            help="Check real ids too: a checkpoint's directory, a tokenizer.json, or a Hugging Face id.",
            rich_help_panel="Target",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="hf|FILE|DIR",
            help="Another template to compare with: its source, and every conversation "
            "(hf: the one beside --tokenizer).",
            rich_help_panel="Target",
        ),
    ] = None,
    kwarg: Annotated[
        list[str] | None,
        typer.Option(
            metavar="K=V",
            help="A template kwarg for every conversation, JSON where it parses; may be repeated.",
            rich_help_panel="Contract",
        ),
    ] = None,
    append_role: Annotated[
        list[Role] | None,
        typer.Option(
            metavar="R",
            help="A role that may be appended, in place of the contract's; may be repeated.",
            rich_help_panel="Contract",
        ),
    ] = None,
    thinking: Annotated[
        ThinkingOption,
        typer.Option(
            help="Conversations without reasoning, with it, or all.", rich_help_panel="Conversations"
        ),
    ] = ThinkingOption.BOTH,
    cases: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|DIR",
            help="Your own conversations in place of titocli's: JSON, JSONL, request bodies.",
            rich_help_panel="Conversations",
        ),
    ] = None,
    examples: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Generated conversations, besides the schedules.",
            rich_help_panel="Conversations",
        ),
    ] = 60,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Of the generated ones.", rich_help_panel="Conversations")
    ] = 1,
    select: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Only this check; may be repeated.", rich_help_panel="Checks"),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Not this check; may be repeated.", rich_help_panel="Checks"),
    ] = None,
    ignore_file: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Failures to live with, each with its reason (TOML; titocli-ignore.toml where that exists).",
            rich_help_panel="Checks",
            show_default=False,
        ),
    ] = None,
    fail_fast: Annotated[
        bool,
        typer.Option("--fail-fast", help="Stop at the first failing conversation.", rich_help_panel="Checks"),
    ] = False,
    list_checks: Annotated[
        bool, typer.Option("--list-checks", help="List the checks.", rich_help_panel="Checks")
    ] = False,
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="What a check looks at, why, and how to fix it.", rich_help_panel="Checks"
        ),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Processes; 0: one a core for --all, else one.", rich_help_panel="Checks"
        ),
    ] = 0,
    report: Annotated[
        Report, typer.Option(help="How the outcome is written.", rich_help_panel="Output")
    ] = Report.TEXT,
    as_json: Annotated[
        bool, typer.Option("--json", help="The same as --report json.", rich_help_panel="Output")
    ] = False,
    output: Annotated[
        str, typer.Option(metavar="FILE|-", help="Where the outcome goes.", rich_help_panel="Output")
    ] = "-",
    save: Annotated[
        str,
        typer.Option(
            metavar="DIR|off", help="Where failing conversations are saved.", rich_help_panel="Output"
        ),
    ] = "titocli-failures",
) -> Result | None:
    """Prove that a chat template keeps its contract, or show the smallest conversation that breaks it.

    Exit code 0: every check passed or was skipped; 1: a counterexample; 2: usage; 3: the template does not
    compile, raises for everything, does not end, or cannot be read; 4: a tokenizer is missing or unfit.
    """
    # Here, for templates are only loaded to check them.
    from titocli.cli.kwarg_option import parse_kwargs
    from titocli.cli.verify_pages import checks_result, page_result
    from titocli.cli.verify_run import VerifyRequest, verify_result
    from titocli.cli.verify_target import TargetOptions

    json_asked = as_json or report is Report.JSON
    if list_checks:
        return checks_result(json_asked=json_asked)
    if explain is not None:
        return page_result(explain, json_asked=json_asked)
    if target is None and not all_families:
        typer.echo(context.get_help(), nl=False)
        raise typer.Exit(2)
    settings = context.obj if isinstance(context.obj, OutputSettings) else None
    return verify_result(
        VerifyRequest(
            target=TargetOptions(
                target=target,
                all_families=all_families,
                family=family,
                variant=variant,
                tokenizer=tokenizer,
                against=against,
                kwargs=parse_kwargs(tuple(kwarg or ())),
                append_roles=tuple(dict.fromkeys(append_role or ())),
            ),
            thinking=thinking,
            cases=cases,
            examples=examples,
            seed=seed,
            select=tuple(select or ()),
            ignore=tuple(ignore or ()),
            ignore_file=ignore_file,
            fail_fast=fail_fast,
            jobs=jobs,
            report=Report.JSON if as_json else report,
            output=None if output == "-" else Path(output),
            save=None if save == "off" else Path(save),
            settings=settings,
        )
    )


__all__ = ["EXAMPLES", "Report", "ThinkingOption", "verify_template"]
