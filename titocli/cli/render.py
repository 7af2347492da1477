"""``titocli render``: the exact text and ids of a conversation, and which part is whose."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from titocli.cli.completion import family_choices
from titocli.cli.control_tokens_option import ControlTokensOption
from titocli.cli.format_names import Format, chosen_format, compared
from titocli.cli.tool_call_ids_option import ToolCallIdsOption
from titocli.families.call_ids import CallIds
from titocli.families.control_policy import ControlTokens
from titocli.report.result import Result

EXAMPLES = """
titocli render --family qwen4exp
titocli render chat.json --family qwen3 --format text
titocli render chat.json --family qwen3 --tokenizer Qwen3 --format ids
cat request.json | titocli render - --family qwen3 --json
titocli render chat.json --family qwen3 --kwarg enable_thinking=false
titocli render chat.json --family qwen3 --tokenizer Qwen3 --against hf
titocli render chat.json --family qwen3 --turns 1 --check expected.txt
"""


def render(
    context: typer.Context,
    conversation: Annotated[
        str | None,
        typer.Argument(
            help="A JSON list of messages, an object with messages and tools, an OpenAI or Anthropic request "
            "body, or JSONL with one of them a line; - reads standard input. Without it: a built-in sample.",
            show_default=False,
        ),
    ] = None,
    *,
    family: Annotated[
        str,
        typer.Option(
            autocompletion=family_choices,
            metavar="NAME|auto",
            help="The family of the model (titocli families); auto: what the checkpoint at --tokenizer says.",
            rich_help_panel="Model and family",
        ),
    ],
    variant: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The variant of the family; without it the checkpoint's, else the first.",
            rich_help_panel="Model and family",
        ),
    ] = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|FILE|HF_ID",
            help="A checkpoint's directory, a tokenizer.json, or a Hugging Face id.",
            rich_help_panel="Model and family",
        ),
    ] = None,
    template: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A Jinja template in place of the family's own.",
            rich_help_panel="Model and family",
        ),
    ] = None,
    template_name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Which of the checkpoint's own templates is meant, where its config has several; without it "
            "tool_use for conversations with tools, else default.",
            rich_help_panel="Model and family",
        ),
    ] = None,
    tools: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A JSON list of tools in place of the conversation's.",
            rich_help_panel="Conversation",
        ),
    ] = None,
    kwarg: Annotated[
        list[str] | None,
        typer.Option(
            metavar="K=V",
            help="A template kwarg, JSON where it parses; may be repeated.",
            rich_help_panel="Conversation",
        ),
    ] = None,
    reasoning_effort: Annotated[
        str | None,
        typer.Option(
            metavar="E",
            help="The reasoning effort, for families that have one.",
            rich_help_panel="Conversation",
        ),
    ] = None,
    generation_prompt: Annotated[
        bool | None,
        typer.Option(
            "--generation-prompt/--no-generation-prompt",
            help="Open the next turn.",
            rich_help_panel="Generation prompt (default: unless an assistant message is last)",
        ),
    ] = None,
    turns: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Only up to and including the N-th assistant message.",
            rich_help_panel="Conversation",
        ),
    ] = None,
    control_tokens: ControlTokensOption = ControlTokens.TEXT,
    tool_call_ids: ToolCallIdsOption = CallIds.VERBATIM,
    form: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="Default: table on a terminal, else text (exact bytes, nothing added).",
            rich_help_panel="Output",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="The same as --format json.", rich_help_panel="Output")
    ] = False,
    output: Annotated[
        str, typer.Option(metavar="FILE|-", help="Where the result goes.", rich_help_panel="Output")
    ] = "-",
    against: Annotated[
        str | None,
        typer.Option(
            metavar="hf|FILE",
            help="Show what another template writes differently (hf: the one beside --tokenizer); "
            "exit 1 if anything.",
            rich_help_panel="Compare",
        ),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Show how the result differs from the bytes of a file; exit 1 if it does.",
            rich_help_panel="Compare",
        ),
    ] = None,
) -> Result:
    """Render a conversation exactly as a model of a family sees it."""
    if conversation == "-" and sys.stdin.isatty():
        typer.echo(context.get_help(), nl=False)
        raise typer.Exit(2)
    destination = None if output == "-" else Path(output)
    wanted = chosen_format(
        form,
        json_asked=as_json,
        compared=compared(against, check),
        on_terminal=destination is None and sys.stdout.isatty(),
    )
    # Here, for templates and tokenizers are only loaded to render.
    from titocli.cli.render_run import RenderRequest, render_result

    return render_result(
        RenderRequest(
            conversation=conversation,
            family=family,
            variant=variant,
            tokenizer=tokenizer,
            template=template,
            template_name=template_name,
            call_ids=tool_call_ids,
            tools=tools,
            kwargs=tuple(kwarg or ()),
            reasoning_effort=reasoning_effort,
            generation_prompt=generation_prompt,
            turns=turns,
            control_tokens=control_tokens,
            wanted=wanted,
            output=destination,
            against=against,
            check=check,
        )
    )


__all__ = ["EXAMPLES", "render"]
