"""Options that commands share which start SGLang: one definition each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from titocli.cli.completion import family_choices

ENGINE_PANEL = "SGLang"

FamilyName = Annotated[
    str,
    typer.Option(
        "--family",
        autocompletion=family_choices,
        metavar="NAME|auto",
        help="The family of the model; auto: what the checkpoint's template or config says.",
        show_default=False,
    ),
]
Variant = Annotated[
    str | None,
    typer.Option(
        "--variant",
        metavar="NAME",
        help="The variant of the family (titocli families show); the checkpoint's when left out.",
        show_default=False,
    ),
]
Python = Annotated[
    str | None,
    typer.Option(
        "--python",
        envvar="TITOCLI_SGLANG_PYTHON",
        help="The Python that has sglang; titocli's own when left out.",
        rich_help_panel=ENGINE_PANEL,
    ),
]
Tp = Annotated[
    int | None, typer.Option("--tp", min=1, help="Tensor parallel size.", rich_help_panel=ENGINE_PANEL)
]
Dp = Annotated[
    int | None, typer.Option("--dp", min=1, help="Data parallel size.", rich_help_panel=ENGINE_PANEL)
]
KvCacheDtype = Annotated[
    str | None,
    typer.Option(
        "--kv-cache-dtype", help="Type of the KV cache, as SGLang spells it.", rich_help_panel=ENGINE_PANEL
    ),
]
MambaRatio = Annotated[
    float | None,
    typer.Option(
        "--mamba-full-memory-ratio",
        help="Mamba state memory over full KV cache memory (hybrid models).",
        rich_help_panel=ENGINE_PANEL,
    ),
]
ContextLength = Annotated[
    int | None,
    typer.Option("--context-length", min=1, help="Tokens of context.", rich_help_panel=ENGINE_PANEL),
]
MemFraction = Annotated[
    float | None,
    typer.Option(
        "--mem-fraction-static",
        min=0.0,
        max=1.0,
        help="Share of memory for weights and cache.",
        rich_help_panel=ENGINE_PANEL,
    ),
]
Wait = Annotated[
    float,
    typer.Option(
        "--wait", min=0.0, help="Seconds until the engine must be ready.", rich_help_panel=ENGINE_PANEL
    ),
]
LogFile = Annotated[
    Path | None,
    typer.Option("--log-file", help="Where the engine's output goes.", rich_help_panel=ENGINE_PANEL),
]
SglangArgs = Annotated[
    list[str] | None,
    typer.Argument(metavar="[-- SGLANG ARGS...]", help="After --: arguments for SGLang.", show_default=False),
]
Host = Annotated[str, typer.Option("--host", help="Address to listen on.")]
Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 picks a free one.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document.", rich_help_panel="Output")]

#: Seconds that a large model may take to load.
READY_SECONDS = 1800.0
