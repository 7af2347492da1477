"""Tool calls as tags (``xml_parameters``, ``xml_parameters_lines``): Qwen3.5 and later, Nemotron 3.

::

    <tool_call>
    <function=f>
    <parameter=k>
    value
    </parameter>
    </function>
    </tool_call>

One newline after a parameter's opening tag and one before its closing tag belong to the tags.  Values are not
escaped: one that begins on its own line ends at the first ``</parameter>`` that has its own line and stands
before another parameter or the function's end.  A value that has none is read as the shorter spelling
without those newlines.  No value goes beyond the next ``<tool_call><function=``: the model started anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from titocli.families.parsers.arguments import Argument, typed_arguments
from titocli.families.parsers.spans import CompletionBytes
from titocli.families.parsers.tool_calls import Offered, Opening, Reading, one_call

_FUNCTION = re.compile(rb"[ \t\r\n]*<function=([^<>\n]+)>")
_PARAMETER = re.compile(rb"[ \t\r\n]*<parameter=([^>\n]+)>")
_END = re.compile(rb"[ \t\r\n]*</function>[ \t\r\n]*</tool_call>")
_RESTART = re.compile(rb"<tool_call>[ \t\r\n]*<function=")
_END_ON_OWN_LINE = re.compile(rb"\n</parameter>\n(?=<parameter=|</function>)")
_END_INLINE = re.compile(rb"\n?</parameter>[ \t\r\n]*(?=<parameter=|</function>)")


@dataclass(frozen=True, slots=True)
class _Parameter:
    """A parameter, the offset after its closing tag, and whether text to come could not move that tag."""

    argument: Argument
    after: int
    settled: bool


def read_xml_parameters(completion: CompletionBytes, opening: Opening, offered: Offered) -> Reading:
    """Reads the call after the opening tag.  (A ``Reader``.)"""
    function = _FUNCTION.match(completion.data, opening.end)
    if function is None:
        return Reading()
    name = completion.text(*function.span(1))
    parameters = list(_parameters(completion, function.end()))
    end = _END.match(completion.data, parameters[-1].after if parameters else function.end())
    arguments = typed_arguments([each.argument for each in parameters], offered.get(name, {}))
    settled = all(each.settled for each in parameters)
    return one_call(opening, end and end.end(), name=name, arguments=arguments, settled=settled)


def _parameters(completion: CompletionBytes, at: int) -> Iterator[_Parameter]:
    restart = _RESTART.search(completion.data, at)
    limit = restart.start() if restart else len(completion.data)
    opening = _PARAMETER.match(completion.data, at, limit)
    while opening:
        close, settled = _close(completion.data, opening.end(), limit)
        if close is None:
            return
        start = opening.end() + completion.data.startswith(b"\n", opening.end())
        # In an empty value the two newlines may be one and the same.
        text = completion.text(start, max(start, close.start()))
        argument = Argument(completion.text(*opening.span(1)), text)
        yield _Parameter(argument, close.end(), settled or restart is not None)
        opening = _PARAMETER.match(completion.data, close.end(), limit)


def _close(data: bytes, at: int, limit: int) -> tuple[re.Match[bytes] | None, bool]:
    """The closing tag, and whether no later tag could take its place."""
    if not data.startswith(b"\n", at):
        return _END_INLINE.search(data, at, limit), True
    close = _END_ON_OWN_LINE.search(data, at, limit)
    return close or _END_INLINE.search(data, at, limit), close is not None


__all__ = ["read_xml_parameters"]
