"""Tool calls as tags (``xml_parameters``): Qwen3.5 and later.

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

from titocli.families.parsers.spans import CompletionBytes
from titocli.families.parsers.strict_json import print_json
from titocli.families.parsers.tool_calls import Offered, Reading
from titocli.families.parsers.typed_values import declared_types, typed_value
from titocli.jsonvalue import JsonObject

_FUNCTION = re.compile(rb"[ \t\r\n]*<function=([^<>\n]+)>")
_PARAMETER = re.compile(rb"[ \t\r\n]*<parameter=([^>\n]+)>")
_END = re.compile(rb"[ \t\r\n]*</function>[ \t\r\n]*</tool_call>")
_RESTART = re.compile(rb"<tool_call>[ \t\r\n]*<function=")
_END_ON_OWN_LINE = re.compile(rb"\n</parameter>\n(?=<parameter=|</function>)")
_END_INLINE = re.compile(rb"\n?</parameter>[ \t\r\n]*(?=<parameter=|</function>)")


@dataclass(frozen=True, slots=True)
class _Parameter:
    """A parameter's name, the byte range of its value, and the offset after its closing tag."""

    name: str
    start: int
    end: int
    after: int


def read_xml_parameters(completion: CompletionBytes, at: int, offered: Offered) -> Reading:
    """Reads the call whose opening tag ends at ``at``.  (A ``Reader``.)"""
    function = _FUNCTION.match(completion.data, at)
    if function is None:
        return Reading()
    name = completion.text(*function.span(1))
    parameters = list(_parameters(completion, function.end()))
    end = _END.match(completion.data, parameters[-1].after if parameters else function.end())
    return Reading(
        end=end and end.end(),
        name=name,
        arguments=_arguments(completion, parameters, offered.get(name, {})),
    )


def _parameters(completion: CompletionBytes, at: int) -> Iterator[_Parameter]:
    restart = _RESTART.search(completion.data, at)
    limit = restart.start() if restart else len(completion.data)
    opening = _PARAMETER.match(completion.data, at, limit)
    while opening:
        close = _close(completion.data, opening.end(), limit)
        if close is None:
            return
        start = opening.end() + completion.data.startswith(b"\n", opening.end())
        # In an empty value the two newlines may be one and the same.
        end = max(start, close.start())
        yield _Parameter(completion.text(*opening.span(1)), start, end, close.end())
        opening = _PARAMETER.match(completion.data, close.end(), limit)


def _close(data: bytes, at: int, limit: int) -> re.Match[bytes] | None:
    on_own_line = data.startswith(b"\n", at)
    close = _END_ON_OWN_LINE.search(data, at, limit) if on_own_line else None
    return close or _END_INLINE.search(data, at, limit)


def _arguments(completion: CompletionBytes, parameters: list[_Parameter], schema: JsonObject) -> str | None:
    arguments = {
        parameter.name: typed_value(
            completion.text(parameter.start, parameter.end), declared_types(schema, parameter.name)
        )
        for parameter in parameters
    }
    return print_json(arguments) if len(arguments) == len(parameters) else None


__all__ = ["read_xml_parameters"]
