"""Mistakes in the templates of Kimi, MiniMax and Inkling."""

from __future__ import annotations

from tests.verify.mutations.mutation import Mutation, against, of

MUTATIONS: tuple[Mutation, ...] = (
    *of(
        "kimi25",
        (
            "stop token after all but the last",
            "loop.last around the end",
            "{{- '<|im_end|>' }}\n{%- endfor %}",
            "{{- '<|im_end|>' if not loop.last }}\n{%- endfor %}",
        ),
        (
            "call id dropped",
            "results without their id",
            "{{- '## Return of ' ~ message.tool_call_id ~ '\\n'",
            "{{- '## Return of tool\\n'",
        ),
        (
            "name in place of id",
            "a call by its name",
            "'<|tool_call_begin|>' ~ call.id",
            "'<|tool_call_begin|>' ~ call.function.name",
        ),
        (
            "thinking ignored",
            "a kwarg that nobody reads any more",
            "{%- set is_off = thinking is defined and thinking is false %}",
            "{%- set is_off = false %}",
        ),
        (
            "None printed",
            "content that is absent",
            "{%- for item in content or [] %}\n            {{- part(item) }}\n        {%- endfor %}",
            "{{- content }}",
        ),
        (
            "answers think no more",
            "the native condition",
            "loop.index0 > answer.last and not is_off",
            "loop.last and not is_off",
        ),
    ),
    *against(
        "minimax_m27",
        (
            "think lost",
            "the think block that the prompt opens",
            "{{- ']~b]ai\\n<think>\\n' if",
            "{{- ']~b]ai\\n' if",
        ),
    ),
    *against(
        "kimi25",
        ("section end lost", "calls that are not closed", "{{- '<|tool_calls_section_end|>' }}", ""),
        (
            "middle lost",
            "a role without its end",
            "(message.name or message.role) ~ '<|im_middle|>' }}",
            "(message.name or message.role) }}",
        ),
    ),
    *of(
        "kimi26",
        (
            "think lost",
            "the think block that the prompt opens",
            "<|im_middle|><think>' ~ (",
            "<|im_middle|>' ~ (",
        ),
        (
            "tools at the end",
            "declarations behind the conversation",
            "{%- if tools %}",
            "{%- if tools and messages | length < 3 %}",
        ),
    ),
    *of(
        "minimax_m25",
        (
            "no newline after a turn",
            "a newline cut at a block's edge",
            "~ body ~ '[e~[\\n' }}",
            "~ body ~ '[e~[' }}",
        ),
        (
            "think only recent",
            "the native condition",
            "if reasoning and (keeps_thinking or is_recent) }}",
            "if reasoning and is_recent }}",
        ),
        (
            "head twice",
            "the head that the tokenizer adds too",
            "{{- ']~!b[' ~ turn(",
            "{{- ']~!b[]~!b[' ~ turn(",
        ),
        (
            "date of today",
            "a date in the system message",
            "{{- tool_instructions() if tools }}\n{%- endmacro %}",
            "{{- '\\nCurrent date: ' ~ strftime_now('%Y-%m-%d') }}{{- tool_instructions() if tools }}\n{%- endmacro %}",
        ),
        (
            "parameters in ASCII",
            "tojson with Python's default",
            "{%- set printed = value if value is string else value | tojson(ensure_ascii=False) %}",
            "{%- set printed = value if value is string else value | tojson(ensure_ascii=True) %}",
        ),
        (
            "first response only",
            "a run of results that ends after the first",
            "{{- response(message.content) }}",
            "{{- response(message.content) if loop.first or loop.previtem.role != 'tool' }}",
        ),
    ),
    *of(
        "inkling",
        (
            "no stop token",
            "a turn without its end",
            "{{- turn ~ '<|content_model_end_sampling|>' if turn }}",
            "{{- turn if turn }}",
        ),
        (
            "stop token at the last",
            "loop.last around the end",
            "{{- turn ~ '<|content_model_end_sampling|>' if turn }}",
            "{{- turn ~ ('<|content_model_end_sampling|>' if loop.last else '') if turn }}",
        ),
        (
            "result without name",
            "a result that does not say whose",
            "{%- set name = tool_name(message, messages[:loop.index0]) %}",
            "{%- set name = '' %}",
        ),
        (
            "effort before the question",
            "a head that moves",
            "{%- if head.is_open and message.role != 'system' %}",
            "{%- if loop.last %}",
        ),
        (
            "thinking dropped beside calls",
            "reasoning of turns with calls left out",
            "if message.reasoning_content }}\n    {{- blocks('model'",
            "if message.reasoning_content and not message.tool_calls }}\n    {{- blocks('model'",
        ),
        (
            "call name lost",
            "arguments alone",
            "'{\"name\":' ~ json(call.name) ~ ',\"args\":' ~ json(call.arguments) ~ '}' %}\n    {{- block('model', 'invoke_tool_json', invocation, call.name) }}",
            "json(call.arguments) %}\n    {{- block('model', 'invoke_tool_json', invocation) }}",
        ),
    ),
    *against(
        "inkling",
        (
            "keys unsorted",
            "tojson without sort_keys",
            "tojson(sort_keys=true, separators",
            "tojson(separators",
        ),
        (
            "opener of results",
            "results from the user",
            "{{- blocks('tool', message.content, name) or block('tool', 'text', '', name) }}",
            "{{- blocks('user', message.content, name) or block('user', 'text', '', name) }}",
        ),
    ),
)

__all__ = ["MUTATIONS"]
