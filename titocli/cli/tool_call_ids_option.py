"""``--tool-call-ids``, the same for every command that renders."""

from __future__ import annotations

from typing import Annotated

import typer

from titocli.families.call_ids import CallIds

ToolCallIdsOption = Annotated[
    CallIds,
    typer.Option(
        "--tool-call-ids",
        help="Ids of tool calls that a client made up, in families that print ids (Kimi): as they came, or "
        "as its models write them, functions.NAME:INDEX.",
        rich_help_panel="Conversation",
    ),
]

__all__ = ["ToolCallIdsOption"]
