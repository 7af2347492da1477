"""``titocli register-family``: a family of one's own, inferred from a checkpoint and proved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from titocli.cli.completion import family_names
from titocli.families.family import Role
from titocli.register.scope import Scope
from titocli.report.result import Result

EXAMPLES = """
titocli register-family toy --template toy.jinja --tokenizer Qwen3 --dry-run  # what would be written
titocli register-family toy --template toy.jinja --tokenizer Qwen3  # prove it and write it
titocli register-family tuned --checkpoint Qwen3 --base qwen3 --scope project  # a fine-tune of Qwen3
titocli register-family tuned --remove --scope project
"""

_SOURCE = "Checkpoint"
_CONTRACT = "Contract (in place of what is inferred)"


def register_family(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The family's name.", show_default=False)],
    *,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|HF_ID",
            help="A checkpoint: its template, tokenizer and stop tokens.",
            rich_help_panel=_SOURCE,
        ),
    ] = None,
    template: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A Jinja template in place of the checkpoint's.", rich_help_panel=_SOURCE
        ),
    ] = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|FILE|HF_ID",
            help="A tokenizer in place of the checkpoint's.",
            rich_help_panel=_SOURCE,
        ),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            autocompletion=family_names,
            metavar="FAMILY",
            help="Take the contract of this family, and its template where --template gives none.",
            rich_help_panel=_CONTRACT,
        ),
    ] = None,
    fixed_kwarg: Annotated[
        list[str] | None,
        typer.Option(
            metavar="K=V", help="A kwarg that belongs to the family; repeatable.", rich_help_panel=_CONTRACT
        ),
    ] = None,
    pinned_kwarg: Annotated[
        list[str] | None,
        typer.Option(
            metavar="K",
            help="A kwarg that a session keeps from its first turn; repeatable.",
            rich_help_panel=_CONTRACT,
        ),
    ] = None,
    append_role: Annotated[
        list[Role] | None,
        typer.Option(help="A role that may be appended; repeatable.", rich_help_panel=_CONTRACT),
    ] = None,
    reasoning_parser: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="How reasoning is read: a grammar of titocli or a parser of SGLang.",
            rich_help_panel=_CONTRACT,
        ),
    ] = None,
    tool_call_parser: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="How tool calls are read: a grammar of titocli or a parser of SGLang.",
            rich_help_panel=_CONTRACT,
        ),
    ] = None,
    examples: Annotated[
        int, typer.Option(min=1, metavar="N", help="Generated conversations.", rich_help_panel="Proof")
    ] = 60,
    seed: Annotated[int, typer.Option(metavar="N", help="Which conversations.", rich_help_panel="Proof")] = 1,
    scope: Annotated[
        Scope, typer.Option(help="For the user, or for the project around this folder.")
    ] = Scope.USER,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the file that would be written, and write nothing.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Write what was not proved, and over what is there.")
    ] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Remove a registered family.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="One JSON document.", rich_help_panel="Output")
    ] = False,
) -> Result:
    """Infer a family from a checkpoint, prove that it keeps history, and write it as one file."""
    from titocli.cli.register_family_run import Request, registered, removed

    request = Request(
        name=name,
        checkpoint=checkpoint,
        template=template,
        tokenizer=tokenizer,
        base=base,
        fixed_kwargs=tuple(fixed_kwarg or ()),
        pinned_kwargs=tuple(pinned_kwarg or ()),
        append_roles=tuple(append_role or ()),
        reasoning_parser=reasoning_parser,
        tool_call_parser=tool_call_parser,
        examples=examples,
        seed=seed,
        scope=scope,
        dry_run=dry_run,
        force=force,
        json=json,
    )
    return removed(request) if remove else registered(request)


__all__ = ["EXAMPLES", "register_family"]
