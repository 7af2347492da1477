"""DeepSeek V4's prompt format.

Every assistant turn opens with its own token; a system message has none.  The text on reasoning effort stands
before everything else, in thinking mode.  There are two sets of these texts: that of the first checkpoints
(``preview``) and that of the checkpoints from 0731 on (``official``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from titocli.families.encoders import turns
from titocli.families.encoders.dsml import (
    BOS,
    USER,
    V4_TAGS,
    introduction,
    text_of,
    tool_calls_text,
)
from titocli.families.encoders.settings import COMMON_KWARGS, EncodingFault, Settings
from titocli.families.encoders.turns import Turn
from titocli.jsonvalue import Message, Tool

KWARGS = COMMON_KWARGS | {"reasoning_effort", "reasoning_effort_profile"}

_ABSOLUTE = (
    "Reasoning Effort: Absolute maximum with no shortcuts permitted.\n"
    "You MUST be very thorough in your thinking and comprehensively decompose the problem to resolve the "
    "root cause, rigorously stress-testing your logic against all potential paths, edge cases, and "
    "adversarial scenarios.\n"
    "Explicitly write out your entire deliberation process, documenting every intermediate step, considered "
    "alternative, and rejected hypothesis to ensure absolutely no assumption is left unchecked.\n\n"
)
_BEYOND = (
    "Reasoning Effort: Beyond maximum — exhaustive, relentless, and uncompromising.\n"
    "You MUST reason with the utmost depth and rigor, leaving absolutely nothing to chance: exhaustively "
    "decompose the problem into its most fundamental components, trace every causal chain to its root, and "
    "resolve the underlying cause rather than any surface symptom.\n"
    "Do not stop reasoning until you have independently verified the solution from multiple angles and are "
    "certain that no assumption remains unchecked and no error remains undiscovered.\n\n"
)
#: The texts of each profile by effort; the first effort is the profile's default.
EFFORTS: Mapping[str, Mapping[str, str]] = {
    "preview": {"high": "", "max": _ABSOLUTE},
    "official": {"low": "", "high": _ABSOLUTE, "max": _BEYOND},
}


def encode(
    messages: Sequence[Message], *, tools: Sequence[Tool], settings: Settings, generation_prompt: bool
) -> str:
    """The prompt text of normalised messages; raises ``EncodingFault``."""
    text = turns.turns_text(messages, tools=tools, settings=settings, asks=_asks, print_turn=_turn)
    prompt = turns.opener(thinks=settings.thinking) if generation_prompt else ""
    return f"{_head(settings)}{text}{prompt}"


def _asks(turn: Turn) -> bool:
    return turn.role == "user"


def _head(settings: Settings) -> str:
    effort = _effort_text(settings)
    if not settings.opens_conversation:
        return ""
    return (BOS if settings.add_default_bos_token else "") + (effort if settings.thinking else "")


def _effort_text(settings: Settings) -> str:
    texts = EFFORTS.get(str(settings.reasoning_effort_profile))
    if texts is None:
        raise EncodingFault(f"reasoning_effort_profile is none of {', '.join(EFFORTS)}")
    effort = next(iter(texts)) if settings.reasoning_effort is None else settings.reasoning_effort
    if not isinstance(effort, str) or effort not in texts:
        raise EncodingFault(f"reasoning_effort is none of {', '.join(texts)}")
    return texts[effort]


def _turn(turn: Turn, tools: Sequence[Tool], thinks: bool) -> str:
    if turn.role == "user":
        return USER + turn.user_text
    message = turn.messages[0]
    if turn.role == "assistant":
        return turns.assistant_text(turn, tool_calls_text(V4_TAGS, message), thinks=thinks)
    if turn.role != "system":
        raise turns.unknown_role(turn.role)
    return text_of(message) + ("\n\n" + introduction(V4_TAGS, tools) if tools else "")


__all__ = ["EFFORTS", "KWARGS", "encode"]
