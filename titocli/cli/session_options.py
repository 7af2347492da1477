"""Options of ``serve-session`` for its sessions: how they match, how far they grow, how they end."""

from __future__ import annotations

import math
import os
import re
from typing import Annotated

import typer

from titocli.errors import InvalidOption

_PANEL, _SESSIONS = "Operation", "Sessions"
DEFAULT_MATCHER = "strict"
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}

MessageMatcher = Annotated[
    str,
    typer.Option(
        "--message-matcher",
        metavar="NAME|PATH",
        help="When a replayed message is the stored one: strict, loose_tool_call, role_content_only, or "
        "package.module.function.",
        rich_help_panel=_SESSIONS,
    ),
]
MaxTurns = Annotated[
    int, typer.Option("--max-turns", min=1, help="Turns of one session.", rich_help_panel=_SESSIONS)
]
MaxSessionTokens = Annotated[
    int | None,
    typer.Option(
        "--max-session-tokens", min=1, metavar="N", help="Ids of one session.", rich_help_panel=_SESSIONS
    ),
]
MaxContextTokens = Annotated[
    int | None,
    typer.Option(
        "--max-context-tokens",
        min=1,
        metavar="N",
        help="The most ids of a prompt and its answer, where the engine says no smaller number.",
        rich_help_panel=_SESSIONS,
    ),
]
SessionTtl = Annotated[
    str,
    typer.Option(
        "--session-ttl",
        metavar="TIME|off",
        help="Sessions that are idle for so long end: 90s, 30m, 2h, 1d, or off.",
        rich_help_panel=_PANEL,
    ),
]
MaxSessions = Annotated[
    int, typer.Option("--max-sessions", min=1, help="Sessions at once.", rich_help_panel=_PANEL)
]
MaxBodyMib = Annotated[
    int, typer.Option("--max-body-mib", min=1, help="MiB of one request body.", rich_help_panel=_PANEL)
]
ApiKeyEnv = Annotated[
    str | None,
    typer.Option(
        "--api-key-env",
        metavar="NAME",
        help="The environment variable with the key that clients must send.",
        rich_help_panel=_PANEL,
    ),
]


def ttl_seconds(text: str) -> float | None:
    """A time such as ``90s``, ``30m``, ``2h`` or ``1d`` in seconds; None for ``off``.

    Raises ``InvalidOption``.
    """
    if text == "off":
        return None
    matched = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text)
    seconds = float(matched[1]) * _SECONDS[matched[2]] if matched else 0.0
    if not 0 < seconds < math.inf:
        raise InvalidOption(
            f"--session-ttl: {text[:40]!r} is no time", hint="for example 90s, 30m, 2h, 1d, or off"
        )
    return seconds


def api_key_of(name: str | None) -> str | None:
    """The key in the environment variable ``name``; None when no variable is named.

    Raises ``InvalidOption`` for a variable that is missing or empty: the server would be open to all.
    """
    if name is None:
        return None
    key = os.environ.get(name, "").strip()
    if not key:
        raise InvalidOption(
            f"--api-key-env: the environment variable {name} is empty or missing", hint=f"export {name}=..."
        )
    return key


__all__ = [
    "DEFAULT_MATCHER",
    "ApiKeyEnv",
    "MaxBodyMib",
    "MaxContextTokens",
    "MaxSessionTokens",
    "MaxSessions",
    "MaxTurns",
    "MessageMatcher",
    "SessionTtl",
    "api_key_of",
    "ttl_seconds",
]
