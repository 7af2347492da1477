"""``deepseekv32``, ``deepseekv4`` and ``deepseekv41``: DeepSeek models that ship an encoder and no template.

Facts are those of SGLang's encoders (``encoding_dsv32``, ``encoding_dsv4``, ``encoding_dsv41``), which follow
the checkpoints' own.
"""

from collections.abc import Mapping
from dataclasses import replace

from titocli.families.family import (
    Checkpoint,
    Deviation,
    Encoder,
    Family,
    Parsers,
    ReasoningGrammar,
    Role,
    SuffixBase,
    ToolCallGrammar,
    ToolRuns,
)
from titocli.jsonvalue import JsonValue

_BOS, _EOS = "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"
_SYSTEM, _USER, _ASSISTANT = "<｜System｜>", "<｜User｜>", "<｜Assistant｜>"
_THINK, _END_THINK = "<think>", "</think>"
_TOKENS = (_BOS, _EOS, _USER, _ASSISTANT, _THINK, _END_THINK)

# Each of them is printed in the history: think blocks, the first token, what belongs to earlier messages.
_PINNED: Mapping[str, tuple[JsonValue, ...]] = {
    "thinking": (True, False),
    "add_default_bos_token": (True, False),
    "context": (),
}

EVERY_TURN_OPENED = Deviation(
    what="an assistant turn that follows no question and no tool result opens with <｜Assistant｜> and its "
    "think token too",
    why="SGLang's encoder prints it without an opener, so that it could never be generated as it is "
    "rendered; DeepSeek's reference encoder for V4 and V4.1 opens every turn",
)
KEEPS_THINKING = Deviation(
    what="with drop_thinking false every turn keeps its reasoning, and its opener the think token, also "
    "before the last user message",
    why="DeepSeek's encoder drops it there whatever drop_thinking says: the next user message rewrites "
    "history",
)
EMPTY_THOUGHT = Deviation(
    what="an assistant message without reasoning and tool calls is printed, with empty reasoning",
    why="DeepSeek's encoder refuses it after the last user message, and a model may answer without a thought",
)
WHOLE_RUNS = Deviation(
    what="a run of tool results that answers some of its calls is refused when something follows it",
    why="DeepSeek's encoder leaves the block of results open, a prompt that no model was trained on",
)

_V4 = Family(
    name="deepseekv4",
    summary="DeepSeek-V4; variant 0731 for the checkpoints whose reasoning efforts are low, high and max",
    checkpoints=(
        Checkpoint(name="deepseek-ai/DeepSeek-V4"),
        Checkpoint(name="deepseek-ai/DeepSeek-V4-Flash"),
    ),
    encoder=Encoder.DEEPSEEK_V4,
    variant="preview",
    fixed_kwargs={"drop_thinking": False, "reasoning_effort_profile": "preview"},
    # The text on effort is the head of the prompt.
    pinned_kwargs={**_PINNED, "reasoning_effort": ("high", "max")},
    # System messages have no token of their own: the reference encoder moves them all to the head.
    append_roles=(Role.USER, Role.ASSISTANT, Role.TOOL),
    tool_runs=ToolRuns.COMPLETE,
    suffix_base=SuffixBase.REAL_HISTORY,
    parsers=Parsers(
        reasoning=ReasoningGrammar.THINK_TAGS_TIGHT,
        tool_call=ToolCallGrammar.DSML,
        sglang_reasoning="deepseek-v4",
        sglang_tool_call="deepseekv4",
    ),
    stop_tokens=(_EOS,),
    required_tokens=(*_TOKENS, "｜DSML｜"),
    assistant_start=_ASSISTANT,
    comparator_trailing=(_ASSISTANT, _THINK, _END_THINK),
    # The tokenizer flags neither of the turn tokens as special.
    comparator_specials=(_BOS, _EOS, _USER, _ASSISTANT),
    deviations=(EVERY_TURN_OPENED,),
)

_V4_0731 = replace(
    _V4,
    summary="DeepSeek-V4 checkpoints from 0731 on",
    variant="0731",
    checkpoints=(Checkpoint(name="deepseek-ai/DeepSeek-V4-Flash-0731"),),
    fixed_kwargs={"drop_thinking": False, "reasoning_effort_profile": "official"},
    pinned_kwargs={**_PINNED, "reasoning_effort": ("low", "high", "max")},
)

DEEPSEEKV4 = replace(_V4, variants={"0731": _V4_0731})

DEEPSEEKV41 = replace(
    _V4,
    name="deepseekv41",
    summary="DeepSeek-V4.1",
    checkpoints=(
        Checkpoint(name="deepseek-ai/DeepSeek-V4.1"),
        Checkpoint(name="deepseek-ai/DeepSeek-V4.1-Flash"),
    ),
    encoder=Encoder.DEEPSEEK_V41,
    variant=None,
    fixed_kwargs={"drop_thinking": False},
    pinned_kwargs={**_PINNED, "reasoning_effort": ("high", "low", "xhigh", "max")},
    # A budget in hundredths, or a share of it.
    effort_numbers=((0.0, 0.99), (1, 100)),
    append_roles=tuple(Role),
    parsers=Parsers(
        reasoning=ReasoningGrammar.THINK_TAGS_TIGHT,
        tool_call=ToolCallGrammar.DSML,
        sglang_reasoning="deepseek-v41",
        sglang_tool_call="deepseekv41",
    ),
    required_tokens=(*_TOKENS, "｜DSML｜", _SYSTEM),
    comparator_specials=(_BOS, _EOS, _SYSTEM, _USER, _ASSISTANT),
)

DEEPSEEKV32 = Family(
    name="deepseekv32",
    summary="DeepSeek-V3.2",
    checkpoints=(Checkpoint(name="deepseek-ai/DeepSeek-V3.2"),),
    encoder=Encoder.DEEPSEEK_V32,
    fixed_kwargs={"drop_thinking": False},
    pinned_kwargs=_PINNED,
    # Not for an order of results: the block that holds them closes with the last one.
    tool_runs=ToolRuns.COMPLETE,
    parsers=Parsers(
        reasoning=ReasoningGrammar.THINK_TAGS_TIGHT,
        tool_call=ToolCallGrammar.DSML,
        sglang_reasoning="deepseek-v3",
        sglang_tool_call="deepseekv32",
    ),
    stop_tokens=(_EOS,),
    # Whether its vocabulary has a token for DSML is not published.
    required_tokens=_TOKENS,
    assistant_start=_ASSISTANT,
    # After tool results the turn goes on without a token of its own.
    assistant_resumes="\n</function_results>",
    comparator_specials=(_USER, _ASSISTANT),
    deviations=(KEEPS_THINKING, EMPTY_THOUGHT, EVERY_TURN_OPENED, WHOLE_RUNS),
)

__all__ = ["DEEPSEEKV4", "DEEPSEEKV32", "DEEPSEEKV41"]
