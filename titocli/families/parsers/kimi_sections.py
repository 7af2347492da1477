"""Tool calls as a section of calls (``kimi_sections``): Kimi K2.5 and K2.6.

``<|tool_calls_section_begin|>``, then for each call ``<|tool_call_begin|>{id}<|tool_call_argument_begin|>
{json}<|tool_call_end|>`` without the line break, then ``<|tool_calls_section_end|>``.  The id is the model's
own and has the name of the function in it: ``functions.f:0``.  The arguments are the model's own spelling.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from titocli.families.parsers.json_call import json_end, object_source
from titocli.families.parsers.spans import CompletionBytes
from titocli.families.parsers.tool_calls import CallReading, Offered, Opening, Reading

OPEN, CLOSE = b"<|tool_calls_section_begin|>", b"<|tool_calls_section_end|>"
_CALL = re.compile(rb"[ \t\r\n]*(?P<begin><\|tool_call_begin\|>)(?P<id>[^<|]*)<\|tool_call_argument_begin\|>")
_NAME = re.compile(r"(?:functions\.)?([^\s:]+):[0-9]+")
_SPACE = re.compile(r"[ \t\r\n]+")
_CALL_END = re.compile(r"[ \t\r\n]*<\|tool_call_end\|>")
_ANY_CALL_END = re.compile(rb"<\|tool_call_end\|>")
_SECTION_END = re.compile(rb"[ \t\r\n]*" + re.escape(CLOSE))


def read_kimi_sections(completion: CompletionBytes, opening: Opening, offered: Offered) -> Reading:  # noqa: ARG001
    """Reads the section after its opening mark.  (A ``Reader``; this grammar needs no schemas.)"""
    following = completion.data.find(OPEN, opening.end)
    limit = len(completion.data) if following < 0 else following
    calls = tuple(_calls(completion, opening.end, limit))
    end = _SECTION_END.match(completion.data, calls[-1].end) if calls else None
    # The end of arguments that are no JSON was guessed: more text may make them JSON.
    settled = all(call.arguments is not None for call in calls)
    return Reading(end=end and end.end(), calls=calls, settled=settled)


def _calls(completion: CompletionBytes, at: int, limit: int) -> Iterator[CallReading]:
    begin = _CALL.match(completion.data, at)
    while begin:
        call = _call(completion, begin, limit)
        yield call
        begin = _CALL.match(completion.data, call.end)


def _call(completion: CompletionBytes, begin: re.Match[bytes], limit: int) -> CallReading:
    """The call; without arguments where they are no JSON object, only its head where it has no end."""
    own_id = completion.text(*begin.span("id")).strip()
    name = _NAME.fullmatch(own_id)
    start = _after_space(completion.view, begin.end())
    stop = json_end(completion.view, start)
    end = _CALL_END.match(completion.view, stop) if stop is not None else None
    arguments = object_source(completion.text(start, stop)) if end and stop is not None else None
    last = end or _ANY_CALL_END.search(completion.data, begin.end(), limit) or begin
    return CallReading(
        start=begin.start("begin"),
        end=last.end(),
        name=name and name[1],
        arguments=arguments,
        id=own_id,
    )


def _after_space(view: str, at: int) -> int:
    space = _SPACE.match(view, at)
    return space.end() if space else at


__all__ = ["CLOSE", "OPEN", "read_kimi_sections"]
