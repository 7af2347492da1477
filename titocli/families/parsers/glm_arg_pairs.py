"""Tool calls as pairs of keys and values (``glm_arg_pairs``): GLM-4.7 and GLM-5.

``<tool_call>f<arg_key>k</arg_key><arg_value>v</arg_value></tool_call>``; whitespace may stand around the
pairs.  Values are not escaped: strings stand as they are, all else is JSON.  A value ends at the first
``</arg_value>`` that stands before another key or the end of the call, and never goes beyond the start of
another call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from titocli.families.parsers.arguments import Argument, typed_arguments
from titocli.families.parsers.spans import CompletionBytes
from titocli.families.parsers.tool_calls import Offered, Opening, Reading, one_call

_NAME = re.compile(rb"[^<>]+")
_PAIR = re.compile(rb"[ \t\r\n]*<arg_key>([^<>]+)</arg_key>[ \t\r\n]*<arg_value>")
_VALUE_END = re.compile(rb"</arg_value>(?=[ \t\r\n]*(?:<arg_key>|</tool_call>))")
_END = re.compile(rb"[ \t\r\n]*</tool_call>")
_RESTART = re.compile(rb"<tool_call>[^<>]+<(?:arg_key|/tool_call)>")


def read_glm_arg_pairs(completion: CompletionBytes, opening: Opening, offered: Offered) -> Reading:
    """Reads the call after the opening tag.  (A ``Reader``.)"""
    spelled = _NAME.match(completion.data, opening.end)
    name = completion.text(*spelled.span()).strip() if spelled else ""
    if spelled is None or not name:
        return Reading()
    pairs = list(_pairs(completion, spelled.end()))
    end = _END.match(completion.data, pairs[-1][1] if pairs else spelled.end())
    arguments = typed_arguments([argument for argument, _ in pairs], offered.get(name, {}))
    return one_call(opening, end and end.end(), name=name, arguments=arguments)


def _pairs(completion: CompletionBytes, at: int) -> Iterator[tuple[Argument, int]]:
    """Each argument and the offset after its value."""
    restart = _RESTART.search(completion.data, at)
    limit = restart.start() if restart else len(completion.data)
    pair = _PAIR.match(completion.data, at, limit)
    while pair:
        close = _VALUE_END.search(completion.data, pair.end(), limit)
        if close is None:
            return
        key, value = completion.text(*pair.span(1)), completion.text(pair.end(), close.start())
        yield Argument(key, value), close.end()
        pair = _PAIR.match(completion.data, close.end(), limit)


__all__ = ["read_glm_arg_pairs"]
