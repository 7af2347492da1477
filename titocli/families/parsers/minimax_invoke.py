"""Tool calls as a block of invokes (``minimax_invoke``): MiniMax-M2.5 and M2.7.

::

    <minimax:tool_call>
    <invoke name="f">
    <parameter name="k">value</parameter>
    </invoke>
    </minimax:tool_call>

Strings stand as they are, all else is JSON.
"""

from __future__ import annotations

from collections.abc import Sequence

from titocli.families.parsers.arguments import Argument, typed_arguments
from titocli.families.parsers.invoke_blocks import InvokeParameter, invoke_tags, read_invokes
from titocli.families.parsers.spans import CompletionBytes
from titocli.families.parsers.tool_calls import Offered, Opening, Reading
from titocli.jsonvalue import JsonObject

OPEN, CLOSE = "<minimax:tool_call>", "</minimax:tool_call>"
_TAGS = invoke_tags(OPEN, CLOSE)


def read_minimax_invoke(completion: CompletionBytes, opening: Opening, offered: Offered) -> Reading:
    """Reads the block after its opening tag.  (A ``Reader``.)"""
    return read_invokes(_TAGS, completion, opening, offered, _arguments)


def _arguments(parameters: Sequence[InvokeParameter], schema: JsonObject) -> str | None:
    return typed_arguments([Argument(each.name, each.text) for each in parameters], schema)


__all__ = ["CLOSE", "OPEN", "read_minimax_invoke"]
