"""What every Qwen family has in common: ChatML turns, the newline after ``<|im_end|>``, the tokens."""

from __future__ import annotations

from titocli.families.family import Glue, Parsers, ReasoningGrammar, Role, ToolCallGrammar

BOUNDARY = Glue(after="<|im_end|>", text="\n")
STOP_TOKENS = ("<|im_end|>", "<|endoftext|>")
ASSISTANT_START = "<|im_start|>assistant"
COMPARATOR_TRAILING = ("\n",)
REQUIRED_TOKENS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
)

#: Roles of the templates that refuse a system message after the first message.
ROLES_WITHOUT_SYSTEM = (Role.TOOL, Role.USER, Role.ASSISTANT)

HERMES_PARSERS = Parsers(
    reasoning=ReasoningGrammar.THINK_TAGS,
    tool_call=ToolCallGrammar.HERMES_JSON,
    sglang_reasoning="qwen3",
    # "qwen25" is the deprecated alias of the same parser in SGLang 0.5.23.
    sglang_tool_call="qwen",
)
XML_PARSERS = Parsers(
    reasoning=ReasoningGrammar.THINK_TAGS,
    tool_call=ToolCallGrammar.XML_PARAMETERS,
    sglang_reasoning="qwen3",
    sglang_tool_call="qwen3_coder",
)

#: Content parts of the templates with vision; an image or a video prints its placeholder tokens.
VISION_PARTS = ("text", "image", "image_url", "video")
