"""Qwen3.8's own chat template, rebuilt from Qwen3.6's.

No package carries the Qwen3.8 template, but its SHA-256 is published.  These edits turn the Qwen3.6 text into it;
the hash proves every byte.
"""

# The lines below are quoted from a template, whatever their length.

from __future__ import annotations

import hashlib

QWEN38_SHA256 = "c3cf9e34abf4f9e36c2d72165aa9c132d3e2a725b6c2586aaa3a8af9d7a81041"

_FIRST_TOOLS_LINE = (
    "{%- if tools and tools is iterable and tools is not mapping %}\n    {{- '<|im_start|>system\\n' }}\n"
)

_EFFORT = r"""{%- set reasoning_instructions = '' %}
{%- if enable_thinking is undefined or enable_thinking is true %}
    {%- set resolved_reasoning_effort = reasoning_effort|default('xhigh') %}
    {%- if resolved_reasoning_effort not in ('xhigh', 'medium', 'low') %}
        {{- raise_exception('Unexpected reasoning effort ' ~ reasoning_effort ~ '. Supported types are xhigh (default), medium, and low.') }}
    {%- endif %}
    {%- if resolved_reasoning_effort == 'xhigh' %}
        {%- set reasoning_instructions = 'Reasoning effort is set to xhigh. Please think carefully through the task, validate key assumptions, consider plausible alternatives, and prioritize correctness, consistency, and clarity in the final answer.' %}
    {%- elif resolved_reasoning_effort == 'low' %}
        {%- set reasoning_instructions = 'Reasoning effort is set to low. Keep your thinking brief and focused, moving directly to the conclusion without unnecessary elaboration.' %}
    {%- endif %}
{%- endif %}
"""

_EFFORT_BEFORE_TOOLS = r"""    {%- if reasoning_instructions %}
        {{- reasoning_instructions + '\n\n' }}
    {%- endif %}
"""

_PLAIN_SYSTEM = r"""        {{- '<|im_start|>system\n' + content + '<|im_end|>\n' }}
"""

_SYSTEM_WITH_EFFORT = r"""        {%- if content %}
            {{- '<|im_start|>system\n' + (reasoning_instructions + '\n\n' if reasoning_instructions else '')  + content + '<|im_end|>\n' }}
        {%- elif reasoning_instructions %}
            {{- '<|im_start|>system\n' + reasoning_instructions + '<|im_end|>\n' }}
        {%- endif %}
    {%- elif reasoning_instructions %}
        {{- '<|im_start|>system\n' + reasoning_instructions + '<|im_end|>\n' }}
"""

_INLINE_REASONING = r"""        {%- else %}
            {%- if '</think>' in content %}
                {%- set reasoning_content = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
                {%- set content = content.split('</think>')[-1].lstrip('\n') %}
            {%- endif %}
"""

#: What Qwen3.8 changed, in the order of the text: (Qwen3.6, Qwen3.8).
EDITS = (
    # A sentence on the reasoning effort heads the system message, with tools or without, and makes one if need be.
    (_FIRST_TOOLS_LINE, _EFFORT + _FIRST_TOOLS_LINE + _EFFORT_BEFORE_TOOLS),
    (_PLAIN_SYSTEM, _SYSTEM_WITH_EFFORT),
    # Reasoning comes from reasoning_content alone.
    (_INLINE_REASONING, ""),
    # Thinking is kept unless preserve_thinking says otherwise.
    (
        "(preserve_thinking is defined and preserve_thinking is true) or (loop.index0 > ns.last_query_index)",
        "preserve_thinking is undefined or preserve_thinking is true or loop.index0 > ns.last_query_index",
    ),
    # An empty string is no arguments.
    (
        "if tool_call.arguments is defined %}",
        "if tool_call.arguments is defined and tool_call.arguments != '' %}",
    ),
)


def build_qwen38(qwen36_text: str) -> str:
    """The Qwen3.8 template; fails when the Qwen3.6 text is not the expected one."""
    text = qwen36_text
    for old, new in EDITS:
        assert text.count(old) == 1, f"{text.count(old)} times {old[:60]!r}"
        text = text.replace(old, new)
    assert hashlib.sha256(text.encode()).hexdigest() == QWEN38_SHA256
    return text
