"""Mistakes in ChatML templates with calls as JSON."""

from __future__ import annotations

from tests.verify.mutations.mutation import Mutation, against, of

_CHATML_TURN = r"""+ role + '\n' + body + '<|im_end|>\n' }}"""
_RESULT_END = r"""{{- '<|im_end|>\n' if loop.last or loop.nextitem.role != 'tool' }}"""

MUTATIONS: tuple[Mutation, ...] = (
    *of(
        "qwen3",
        (
            "no newline after a turn",
            "a newline cut at a block's edge",
            _CHATML_TURN,
            r"""+ role + '\n' + body + '<|im_end|>' }}""",
        ),
        ("no stop token", "a turn without its end", _CHATML_TURN, r"""+ role + '\n' + body + '\n' }}"""),
        (
            "history trimmed",
            "the native templates of Qwen3 trim what is not last",
            "{%- set content = message.content if message.content is string else '' %}",
            "{%- set content = message.content if message.content is string else '' %}"
            "{%- set content = content if loop.last else content | trim %}",
        ),
        (
            "thinking only recent",
            "the native condition",
            "keeps_thinking or (is_recent and (is_last or reasoning))",
            "is_recent and (is_last or reasoning)",
        ),
        (
            "thinking only last",
            "loop.last around the think block",
            "keeps_thinking or (is_recent and (is_last or reasoning))",
            "is_last",
        ),
        (
            "thinking unless empty",
            "no block for an empty reasoning of history",
            "keeps_thinking or (is_recent and (is_last or reasoning))",
            "is_last or reasoning",
        ),
        (
            "switch at the last message",
            "/think at the end of the last user message",
            "{{- turn(message.role, content) }}",
            "{{- turn(message.role, content ~ (' /think' if loop.last else '')) }}",
        ),
        (
            "tools reversed when asked",
            "tools sorted by what was used last",
            "{%- for tool in tools %}",
            "{%- for tool in (tools if messages | length < 4 else tools | reverse) %}",
        ),
        (
            "tools reversed",
            "tools in an order of their own",
            "{%- for tool in tools %}",
            "{%- for tool in tools | reverse %}",
        ),
        (
            "first tool only",
            "a slice that was meant for a test",
            "{%- for tool in tools %}",
            "{%- for tool in tools[:1] %}",
        ),
        (
            "date at the head",
            "the date of today, as Llama 3 prints it",
            "{{- turn('system', messages[0].content) }}",
            "{{- turn('system', 'Today: ' ~ strftime_now('%d %b %Y') ~ messages[0].content) }}",
        ),
        (
            "old messages cut",
            "counting from the end, to save tokens",
            "{{- turn(message.role, content) }}",
            "{{- turn(message.role, content if loop.revindex0 < 4 else content[:12]) }}",
        ),
        (
            "last messages only",
            "a window over the conversation",
            "{%- for message in messages %}\n    {%- set content",
            "{%- for message in messages[-6:] %}\n    {%- set content",
        ),
        (
            "opener without newline",
            "another generation prompt",
            r"""{{- '<|im_start|>assistant\n' }}""",
            "{{- '<|im_start|>assistant' }}",
        ),
        (
            "no generation prompt",
            "add_generation_prompt misspelt",
            "{%- if add_generation_prompt %}",
            "{%- if add_generation_promt %}",
        ),
        (
            "generation prompt always",
            "the condition lost",
            "{%- if add_generation_prompt %}",
            "{%- if true %}",
        ),
        (
            "thinking off does nothing",
            "the empty think block of the prompt lost",
            r"""{{- '<think>\n\n</think>\n\n' if enable_thinking is defined and enable_thinking is false }}""",
            "",
        ),
        (
            "tools escaped",
            "autoescape, or |e",
            r"""{{- tool | tojson + '\n' }}""",
            r"""{{- tool | tojson | e + '\n' }}""",
        ),
        (
            "arguments in ASCII",
            "tojson with Python's default",
            "else call.arguments | tojson %}",
            "else call.arguments | tojson(ensure_ascii=True) %}",
        ),
        (
            "arguments sorted",
            "tojson with sort_keys",
            "else call.arguments | tojson %}",
            "else call.arguments | tojson(sort_keys=True) %}",
        ),
        (
            "arguments by str",
            "string concatenation of a mapping",
            "else call.arguments | tojson %}",
            "else call.arguments | string %}",
        ),
        (
            "arguments twice encoded",
            "tojson of JSON text",
            "call.arguments if call.arguments is string else call.arguments | tojson",
            "call.arguments | tojson | tojson",
        ),
        (
            "empty results left out",
            "if content",
            r"""{{- '\n<tool_response>\n' + content + '\n</tool_response>' }}""",
            r"""{{- '\n<tool_response>\n' + content + '\n</tool_response>' if content }}""",
        ),
        ("results without end", "the end of a run of results lost", _RESULT_END, ""),
        (
            "results end at the last",
            "loop.last where a run ends",
            _RESULT_END,
            r"""{{- '<|im_end|>\n' if loop.last }}""",
        ),
        (
            "no later system",
            "only user messages",
            "{%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}",
            "{%- if message.role == 'user' %}",
        ),
        (
            "calls lost beside words",
            "either content or calls",
            "{%- for call in message.tool_calls or [] %}",
            "{%- for call in (message.tool_calls or [] if not content else []) %}",
        ),
        (
            "first call only",
            "one call a turn",
            "{%- for call in message.tool_calls or [] %}",
            "{%- for call in (message.tool_calls or [])[:1] %}",
        ),
        (
            "call numbered by turn",
            "a counter of all messages",
            r"""{{- '<tool_call>\n{"name": "'""",
            r"""{{- '<tool_call>\n{"number": ' ~ (messages | length) ~ ', "name": "'""",
        ),
    ),
    *against(
        "qwen3",
        (
            "roles in capitals",
            "|upper",
            r"""'<|im_start|>' + role + '\n'""",
            r"""'<|im_start|>' + role | upper + '\n'""",
        ),
        (
            "results from tool",
            "the role as it is named in messages",
            "'<|im_start|>user' if loop.first",
            "'<|im_start|>tool' if loop.first",
        ),
        ("results apart", "one turn a result", "or loop.previtem.role != 'tool' }}", "or true }}"),
    ),
    *of(
        "qwennext",
        (
            "reasoning trimmed to a line",
            "only the first line of a reasoning",
            "reasoning.strip('\\n')",
            "reasoning.strip('\\n')[:10]",
        ),
    ),
    *against(
        "qwennext",
        (
            "think lost",
            "the think block that the prompt opens",
            r"""{{- '<|im_start|>assistant\n<think>\n' }}""",
            r"""{{- '<|im_start|>assistant\n' }}""",
        ),
    ),
)

__all__ = ["MUTATIONS"]
