"""Small templates that differ from a plain one in one thing."""

from __future__ import annotations

from titocli.families.chat_template import compile_template
from titocli.families.template_source import TemplateSource
from titocli.jsonvalue import JsonValue
from titocli.register.subject import CheckpointFiles, Subject
from titocli.tokens.byte_level import byte_level_tokenizer

TOKENS = ("<|im_start|>", "<|im_end|>", "<|stop|>", "<think>", "</think>", "<tool_call>", "</tool_call>")

#: ChatML with reasoning and Qwen's tool calls; ``{gate}`` is the condition under which a turn shows reasoning.
CHATML = """\
{%- set last = namespace(user=-1) %}
{%- for m in messages %}{% if m.role == 'user' %}{% set last.user = loop.index0 %}{% endif %}{% endfor %}
{{- '<|im_start|>system\\n' + tools | tojson + '<|im_end|>\\n' if tools }}
{%- for m in messages %}
{{- '<|im_start|>' + m.role + '\\n' }}
{%- if m.role == 'assistant' and m.reasoning_content %}
    {%- if GATE %}
        {{- '<think>\\n' + m.reasoning_content + '\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
{{- m.content }}
{%- for call in m.tool_calls or [] %}
    {{- '\\n' if m.content or not loop.first }}
    {{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' + call.function.arguments | tojson }}
    {{- '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{% endif %}
"""


def chatml(gate: str = "true") -> str:
    """The plain template, reasoning under a condition."""
    return CHATML.replace("GATE", gate)


def subject(text: str, stop_tokens: tuple[str, ...] = (), **kwargs: JsonValue) -> Subject:
    """A checkpoint of a template."""
    return Subject(
        template=compile_template(TemplateSource("toy.jinja", text)),
        tokenizer=byte_level_tokenizer(TOKENS, special=TOKENS[:3]),
        files=CheckpointFiles(name="toy", stop_tokens=stop_tokens),
        kwargs=kwargs,
    )
