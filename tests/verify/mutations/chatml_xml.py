"""Mistakes in ChatML templates with calls as XML."""

from __future__ import annotations

from tests.verify.mutations.mutation import Mutation, of

MUTATIONS: tuple[Mutation, ...] = (
    *of(
        "qwen35",
        (
            "no newline after think",
            "a think block that the prompt spells otherwise",
            r"""{{- '<think>\n' + reasoning | trim + '\n</think>\n\n' }}""",
            r"""{{- '<think>' + reasoning | trim + '\n</think>\n\n' }}""",
        ),
        ("thinking off closes nothing", "an if forgotten", r"""('\n</think>\n\n' if is_off else '')""", "''"),
        (
            "results by position",
            "a number that counts all messages",
            r"""{{- '\n<tool_response>\n' + """,
            r"""{{- '\n<tool_response ' ~ loop.index ~ '>\n' + """,
        ),
        (
            "results count from the end",
            "a number that counts from the last",
            r"""{{- '\n<tool_response>\n' + """,
            r"""{{- '\n<tool_response ' ~ loop.revindex ~ '>\n' + """,
        ),
    ),
    *of(
        "qwen36",
        (
            "preserve_thinking inverted",
            "a condition the wrong way round",
            "preserve_thinking is true %}",
            "preserve_thinking is false %}",
        ),
        (
            "preserve_thinking ignored",
            "a kwarg that nobody reads any more",
            "{%- set keeps_thinking = preserve_thinking is defined and preserve_thinking is true %}",
            "{%- set keeps_thinking = false %}",
        ),
        (
            "no question, no thinking",
            "index of the last user message",
            "{%- if keeps_thinking or is_recent %}",
            "{%- if is_recent %}",
        ),
        (
            "arguments by Python",
            "|string in place of |tojson",
            "value if value is string else value | tojson %}",
            "value if value is string else value | string %}",
        ),
        (
            "arguments escaped",
            "|e on a value",
            "value if value is string else value | tojson %}",
            "value | e if value is string else value | tojson | e %}",
        ),
        ("parameter names lost", "values without names", "'<parameter=' + name + '>\\n'", "'<parameter>\\n'"),
    ),
    *of(
        "qwen4exp",
        (
            "effort at the last question",
            "a setting at the end instead of the head",
            "{{- turn('user', text(message.content, 'turn') | trim) }}",
            "{{- turn('user', text(message.content, 'turn') | trim ~ (reasoning_effort | default('') if loop.last else '')) }}",
        ),
        (
            "answers trimmed at the end",
            "content that is trimmed once it is history",
            "{%- set content = text(message.content, 'turn') | trim %}\n        {{- turn('assistant'",
            "{%- set content = text(message.content, 'turn') | trim if loop.last else '' %}\n        {{- turn('assistant'",
        ),
        (
            "system lost beside tools",
            "a head that has one or the other",
            "tool_instructions() if has_tools else '', system]",
            "tool_instructions() if has_tools else system]",
        ),
    ),
    *of(
        "nemotron3",
        (
            "truncation ignored",
            "the kwarg of another version",
            "truncate_history_thinking is defined and not truncate_history_thinking",
            "keep_thinking is defined",
        ),
        (
            "recent calls trimmed",
            "text of history trimmed otherwise",
            "{{- content | trim }}\n    {%- endif %}",
            "{{- content | trim if is_recent else content ~ ' ' }}\n    {%- endif %}",
        ),
        (
            "system at the end",
            "the system text with the last message",
            "{{- turn(message.role, message.content) }}",
            "{{- turn(message.role, message.content ~ (system if loop.last else '')) }}",
        ),
        (
            "enum lost",
            "a description left out",
            "{{- element('description', schema.description | trim) if schema.description is defined }}",
            "",
        ),
        (
            "result newline",
            "results that end with a newline too much",
            "'\\n</tool_response>\\n' }}",
            "'\\n</tool_response>' ~ ('\\n' if loop.last else '') }}",
        ),
    ),
    *of(
        "nemotron3:super",
        (
            "hint always",
            "an effort that moves with the last question",
            "if low_effort and is_last else ''",
            "if is_last else ''",
        ),
    ),
    *of(
        "nemotron3:ultra",
        (
            "thinking off ignored",
            "a prompt that always thinks",
            "('<think></think>' if is_off else '<think>\\n')",
            "'<think>\\n'",
        ),
    ),
)

__all__ = ["MUTATIONS"]
