"""``--control-tokens``, the same for every command that renders."""

from __future__ import annotations

from typing import Annotated

import typer

from titocli.families.control_policy import ControlTokens

ControlTokensOption = Annotated[
    ControlTokens,
    typer.Option(
        "--control-tokens",
        help="Control tokens spelled in messages and tools: encoded as text, kept as tokens, or refused.",
        rich_help_panel="Conversation",
    ),
]

__all__ = ["ControlTokensOption"]
