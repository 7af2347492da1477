"""``nemotron3``: Nemotron 3 Nano, Super and Ultra (ChatML turns, XML tools and tool calls)."""

from dataclasses import replace
from typing import Any

from titocli.families import chatml
from titocli.families.family import Checkpoint, Family, Parsers, ReasoningGrammar, ToolCallGrammar

# SHA-256 of the checkpoints' own templates (TRL's chat_templates/ at f2cd5771).
_NANO = "ab7813c3abdd9cb655905a410728b26c7884eca45ddfab8d9f931553485a7862"
_SUPER = "575fb74f54ed264df9047d0ecce3c98938aae953fb4f50356675706264cbb68a"
_ULTRA = "82753bef5cedc4932c1ed509b5c9a12be680fd86d1adb65bc3f7398d11c8eebc"

_HINT_MOVES = (
    "the template of Nemotron 3 {model} writes it as a hint at the end of the last user message, so every "
    "new user message takes the hint out of an earlier one"
)

_BASE = Family(
    name="nemotron3",
    summary="Nemotron 3 Nano; variants for Super and Ultra",
    checkpoints=tuple(
        Checkpoint(name=f"nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-{kind}", template_sha256=_NANO)
        for kind in ("BF16", "FP8")
    ),
    template="nemotron3_nano.jinja",
    variant="nano",
    fixed_kwargs={"truncate_history_thinking": False},
    turn_kwargs={"enable_thinking": (True, False)},
    refused_kwargs={
        "low_effort": _HINT_MOVES.format(model="Super"),
        "medium_effort": _HINT_MOVES.format(model="Ultra"),
    },
    boundary=chatml.BOUNDARY,
    parsers=Parsers(
        reasoning=ReasoningGrammar.THINK_TAGS_LINES,
        tool_call=ToolCallGrammar.XML_PARAMETERS_LINES,
        sglang_reasoning="nemotron_3",
        sglang_tool_call="qwen3_coder",
    ),
    # eos_token_id of generation_config.json is [2, 11] (Nano, Super).  No template writes </s>: a turn that
    # ends with it keeps it, and is reported as a mismatch.
    stop_tokens=("<|im_end|>", "</s>"),
    required_tokens=(
        "</s>",
        "<|im_start|>",
        "<|im_end|>",
        "<think>",
        "</think>",
        "<tool_call>",
        "</tool_call>",
        "<tool_response>",
        "</tool_response>",
    ),
    assistant_start="<|im_start|>assistant\n",
    comparator_trailing=chatml.COMPARATOR_TRAILING,
)


def _variant(name: str, size: str, template_sha256: str, **differing: Any) -> Family:
    """The contract of one larger checkpoint: the base with what differs."""
    model = f"Nemotron-3-{name.title()}"
    checkpoint = Checkpoint(name=f"nvidia/NVIDIA-{model}-{size}-BF16", template_sha256=template_sha256)
    return replace(
        _BASE,
        summary=model.replace("-", " "),
        variant=name,
        checkpoints=(checkpoint,),
        template=f"nemotron3_{name}.jinja",
        **differing,
    )


NEMOTRON3 = replace(
    _BASE,
    variants={
        "super": _variant("super", "120B-A12B", _SUPER),
        "ultra": _variant(
            "ultra",
            "550B-A55B",
            _ULTRA,
            parsers=replace(_BASE.parsers, reasoning=ReasoningGrammar.THINK_TAGS_HEADED),
        ),
    },
)
