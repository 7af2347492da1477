"""``qwen38small`` and ``qwen4exp``: the Qwen3.8 models; two names, one contract, one template."""

from dataclasses import replace

from titocli.families import chatml
from titocli.families.family import Checkpoint, Family
from titocli.families.qwen35 import NO_USER_GUARD

# Published hash of the template of Qwen3.8-27B; a public test states that Flash-Next carries the same text.
_TEMPLATE = "c3cf9e34abf4f9e36c2d72165aa9c132d3e2a725b6c2586aaa3a8af9d7a81041"

QWEN38SMALL = Family(
    name="qwen38small",
    summary="Qwen3.8-27B",
    checkpoints=(
        Checkpoint(name="Qwen/Qwen3.8-27B", template_sha256=_TEMPLATE),
        Checkpoint(name="Qwen/Qwen3.8-27B-FP8", template_sha256=_TEMPLATE),
    ),
    template="qwen3.8_small_and_flash_next.jinja",
    fixed_kwargs={"preserve_thinking": True},
    # Thinking and its effort are written into the system message at the head of the prefix.
    pinned_kwargs={
        "add_vision_id": (False, True),
        "enable_thinking": (True, False),
        "reasoning_effort": ("xhigh", "medium", "low"),
    },
    append_roles=chatml.ROLES_WITHOUT_SYSTEM,
    content_parts=chatml.VISION_PARTS,
    boundary=chatml.BOUNDARY,
    parsers=chatml.XML_PARSERS,
    stop_tokens=chatml.STOP_TOKENS,
    required_tokens=chatml.REQUIRED_TOKENS,
    assistant_start=chatml.ASSISTANT_START,
    comparator_trailing=chatml.COMPARATOR_TRAILING,
    deviations=(NO_USER_GUARD,),
)

QWEN4EXP = replace(
    QWEN38SMALL,
    name="qwen4exp",
    summary="Qwen3.8-Flash-Next",
    checkpoints=(Checkpoint(name="Qwen/Qwen3.8-Flash-Next", template_sha256=_TEMPLATE),),
)
