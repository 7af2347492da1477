"""Any ids, made of pieces of every grammar."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.families.parsing import NO_THINK, OPEN_THINK, SPOKEN, TOKENIZER, UNOPENED

PIECES = (
    "<think>",
    "</think>",
    "\n",
    "\n\n",
    "text",
    "é",
    "<tool_call>",
    "</tool_call>",
    '{"name": "f", "arguments": {"a": 1}}',
    '{"a": 1}',
    "}",
    "<tool_call>f<arg_key>k</arg_key><arg_value>",
    "</arg_value>",
    "<function=f>",
    "<parameter=a>\n",
    "\n</parameter>\n",
    "</function>",
    "<minimax:tool_call>\n",
    "</minimax:tool_call>",
    '<invoke name="f">\n',
    "</invoke>\n",
    '<parameter name="k">',
    "</parameter>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
    "<｜DSML｜tool_calls>\n",
    "</｜DSML｜tool_calls>",
    '<｜DSML｜invoke name="f">\n',
    "</｜DSML｜invoke>\n",
    '<｜DSML｜parameter name="k" string="false">',
    "</｜DSML｜parameter>\n",
    "<|message_model|>",
    "<|content_text|>",
    "<|content_thinking|>",
    "f<|content_invoke_tool_json|>",
    '{"name":"f","args":{"k":"<|end_message|>"}}',
    "<|end_message|>",
    "<|im_end|>",
    "[e~[",
    "<|user|>",
)
#: Whole calls, so that many of the completions have some.
CALLS = tuple(
    text
    for spoken in SPOKEN.values()
    for text in (
        spoken.write("why", "so", [("f", {"a": "x"}), ("g", {})]),
        spoken.write("", "", [("f", {"a": "1\n"})]),
    )
)
_TEXT = st.sampled_from(PIECES) | st.sampled_from(CALLS)
IDS = st.lists(
    st.one_of(
        st.integers(-2, 300).map(lambda token_id: [token_id]),
        st.integers(-(2**31), 2**31 - 1).map(lambda token_id: [token_id]),
        _TEXT.map(TOKENIZER.encode),
        _TEXT.map(lambda piece: list(piece.encode())),
    ),
    max_size=20,
).map(lambda pieces: [token_id for piece in pieces for token_id in piece])
PROMPTS = st.sampled_from(["<think>", OPEN_THINK, NO_THINK, UNOPENED, "", "<|message_model|>"])
