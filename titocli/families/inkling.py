"""``inkling``: Inkling and Inkling-Small.

The checkpoints' own template was not found in public.  The rendering follows what is told of it, and
Inkling's token renderer in llm-router-utils 0.8.1, which the tests compare with.

SGLang 0.5.23 renders by tml-renderers instead, which differs from both: it declares the tools after the
system messages that open the conversation, sorts the keys of arguments at the top level alone, and prints a
block for empty text.  A session is not touched by that, for it sends ids.
"""

from titocli.families.family import (
    Checkpoint,
    Deviation,
    Family,
    Parsers,
    ReasoningGrammar,
    SuffixBase,
    ToolCallGrammar,
)

INKLING = Family(
    name="inkling",
    summary="Inkling, Inkling-Small",
    checkpoints=(
        Checkpoint(name="thinkingmachines/Inkling"),
        Checkpoint(name="thinkingmachines/Inkling-Small"),
    ),
    template="inkling.jinja",
    pinned_kwargs={"reasoning_effort": ("high", "none", "minimal", "low", "medium", "max")},
    effort_numbers=((0.0, 0.99),),
    content_parts=("text", "image", "image_url", "input_image", "audio", "audio_url", "input_audio"),
    # A tool result bears the name of the call with its id, which may stand anywhere before it.
    suffix_base=SuffixBase.REAL_HISTORY,
    parsers=Parsers(
        reasoning=ReasoningGrammar.INKLING_BLOCKS,
        tool_call=ToolCallGrammar.INKLING_BLOCKS,
        sglang_reasoning="inkling",
        sglang_tool_call="inkling",
    ),
    stop_tokens=("<|content_model_end_sampling|>", "<|endoftext|>"),
    required_tokens=(
        "<|endoftext|>",
        "<|message_user|>",
        "<|message_model|>",
        "<|message_system|>",
        "<|message_tool|>",
        "<|content_text|>",
        "<|content_thinking|>",
        "<|content_xml|>",
        "<|content_invoke_tool_json|>",
        "<|content_model_end_sampling|>",
        "<|end_message|>",
    ),
    assistant_start="<|message_model|>",
    deviations=(
        Deviation(
            what="empty content has no block, and an assistant turn without blocks has no end token",
            why="the checkpoint's template is said to print both, llm-router-utils prints neither: an empty "
            "block says nothing",
        ),
        Deviation(
            what="text parts are one block",
            why="titocli joins text parts before rendering; the checkpoint's template prints a block a part",
        ),
    ),
)
