"""Tool calls as JSON (``hermes_json``): Qwen3 and Qwen3-Next.

``<tool_call>\\n{"name": "f", "arguments": {...}}\\n</tool_call>``; any JSON whitespace may stand between the
tags and the object.  The object has these two members and no other, in any order.
"""

from __future__ import annotations

from titocli.families.parsers.json_call import read_json_call
from titocli.families.parsers.spans import CompletionBytes
from titocli.families.parsers.tool_calls import Offered, Opening, Reading, one_call

_CLOSE = "</tool_call>"


def read_hermes(completion: CompletionBytes, opening: Opening, offered: Offered) -> Reading:  # noqa: ARG001
    """Reads the call after the opening tag.  (A ``Reader``; this grammar needs no schemas.)"""
    call = read_json_call(completion, opening.end, name="name", arguments="arguments")
    closed = call.end is not None and completion.view.startswith(_CLOSE, call.end)
    end = call.end + len(_CLOSE) if call.end is not None and closed else None
    return one_call(opening, end, name=call.name, arguments=call.arguments)


__all__ = ["read_hermes"]
