"""DeepSeek V4.1's prompt format.

As V4's, but a system message has a token of its own and may stand anywhere, and reasoning effort is a number
from 1 to 100 in the first system turn, which is there for it alone where no system message comes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from titocli.families.encoders import turns
from titocli.families.encoders.dsml import (
    BOS,
    SYSTEM,
    USER,
    V41_TAGS,
    introduction,
    text_of,
    tool_calls_text,
)
from titocli.families.encoders.settings import COMMON_KWARGS, EncodingFault, Settings
from titocli.families.encoders.turns import Turn
from titocli.jsonvalue import JsonValue, Message, Tool

KWARGS = COMMON_KWARGS | {"reasoning_effort"}

#: The budgets of the named efforts; the first is the default.
EFFORTS: Mapping[str, int] = {"high": 75, "low": 50, "xhigh": 75, "max": 100}
_LARGEST_BUDGET = 100
_LARGEST_SHARE = 0.99


def encode(
    messages: Sequence[Message], *, tools: Sequence[Tool], settings: Settings, generation_prompt: bool
) -> str:
    """The prompt text of normalised messages; raises ``EncodingFault``."""
    text = turns.turns_text(
        messages, tools=tools, settings=settings, asks=_asks, print_turn=partial(_turn, settings)
    )
    prompt = turns.opener(thinks=settings.thinking) if generation_prompt else ""
    return f"{_head(settings)}{text}{prompt}"


def _asks(turn: Turn) -> bool:
    """Users' turns, and system messages in the middle, are answered."""
    return turn.role == "user" or (turn.role == "system" and turn.index > 0)


def _head(settings: Settings) -> str:
    budget = _budget(settings.reasoning_effort)
    if not settings.opens_conversation:
        return ""
    bos = BOS if settings.add_default_bos_token else ""
    if not settings.thinking:
        return bos
    return (
        f"{bos}{SYSTEM}Reasoning Effort: {budget} "
        "(range 1-100, the higher the value, the more thorough the reasoning)\n\n"
    )


def _budget(effort: JsonValue) -> int:
    """A named effort, a whole number from 1 to 100, or a share from 0 to 0.99 of 100."""
    if effort is None:
        return next(iter(EFFORTS.values()))
    if isinstance(effort, str) and effort in EFFORTS:
        return EFFORTS[effort]
    if isinstance(effort, int) and not isinstance(effort, bool) and 1 <= effort <= _LARGEST_BUDGET:
        return int(effort)
    if isinstance(effort, float) and 0 <= effort <= _LARGEST_SHARE:
        return max(1, round(effort * _LARGEST_BUDGET))
    raise EncodingFault(
        f"reasoning_effort is none of {', '.join(EFFORTS)}, "
        f"nor a whole number from 1 to {_LARGEST_BUDGET}, nor a share from 0 to {_LARGEST_SHARE}"
    )


def _turn(settings: Settings, turn: Turn, tools: Sequence[Tool], thinks: bool) -> str:
    if turn.role == "user":
        return USER + turn.user_text
    message = turn.messages[0]
    if turn.role == "assistant":
        return turns.assistant_text(turn, tool_calls_text(V41_TAGS, message), thinks=thinks)
    if turn.role != "system":
        raise turns.unknown_role(turn.role)
    # Reasoning effort has opened the first turn.
    token = "" if turn.index == 0 and settings.thinking else SYSTEM
    return token + text_of(message) + ("\n\n" + introduction(V41_TAGS, tools) if tools else "")


__all__ = ["EFFORTS", "KWARGS", "encode"]
