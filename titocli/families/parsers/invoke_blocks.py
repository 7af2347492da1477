"""What MiniMax's and DeepSeek's tool calls share: a block of invokes, each with named parameters.

Values are not escaped: one ends at the first closing tag that stands before another parameter or the end of
the invoke, and never goes beyond the start of another block.  Where anything else than invokes and
parameters stands in the block, no call of it is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from titocli.families.parsers.spans import CompletionBytes
from titocli.families.parsers.tool_calls import CallReading, Offered, Opening, Reading
from titocli.jsonvalue import JsonObject

_SPACE = rb"[ \t\r\n]*"


@dataclass(frozen=True, slots=True)
class InvokeParameter:
    """A parameter: its name, the attributes of its tag, its value as the model wrote it."""

    name: str
    attributes: Mapping[str, str]
    text: str


#: The arguments of one invoke as JSON text, by the schema of the tool's parameters; None where they are none.
ReadArguments: TypeAlias = Callable[[Sequence[InvokeParameter], JsonObject], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class InvokeTags:
    """The patterns of one spelling of a block."""

    invoke: re.Pattern[bytes]
    invoke_end: re.Pattern[bytes]
    parameter: re.Pattern[bytes]
    value_end: re.Pattern[bytes]
    block_end: re.Pattern[bytes]
    restart: re.Pattern[bytes]


def invoke_tags(opening: str, closing: str, *, prefix: str = "", attributes: str = "") -> InvokeTags:
    """The patterns of a block between two marks, of tags ``<{prefix}invoke name="...">``.

    ``attributes`` is a pattern of what follows the name of a parameter, with named groups.
    """
    invoke = rb'<%sinvoke name="' % re.escape(prefix.encode())
    parameter = rb'<%sparameter name="' % re.escape(prefix.encode())
    invoke_end = rb"</%sinvoke>" % re.escape(prefix.encode())
    parameter_end = rb"</%sparameter>" % re.escape(prefix.encode())
    name, more = rb'(?P<name>[^<\n]+?)"', attributes.encode()
    return InvokeTags(
        invoke=re.compile(_SPACE + rb"(?P<tag>" + invoke + name + rb">)"),
        invoke_end=re.compile(_SPACE + invoke_end),
        parameter=re.compile(_SPACE + parameter + name + more + rb">"),
        value_end=re.compile(
            parameter_end + rb"(?=" + _SPACE + rb"(?:" + parameter + rb"|" + invoke_end + rb"))"
        ),
        block_end=re.compile(_SPACE + re.escape(closing.encode())),
        restart=re.compile(re.escape(opening.encode()) + _SPACE + invoke),
    )


def read_invokes(
    tags: InvokeTags, completion: CompletionBytes, opening: Opening, offered: Offered, read: ReadArguments
) -> Reading:
    """Reads the block after its opening mark."""
    restart = tags.restart.search(completion.data, opening.end)
    limit = restart.start() if restart else len(completion.data)
    calls, at = [], opening.end
    while invoke := tags.invoke.match(completion.data, at, limit):
        call, end = _invoke(tags, completion, invoke, limit, offered, read)
        calls.append(call)
        if end is None:
            return Reading(calls=tuple(calls))
        at = end
    block_end = tags.block_end.match(completion.data, at, limit) if calls else None
    return Reading(end=block_end and block_end.end(), calls=tuple(calls))


def _invoke(
    tags: InvokeTags,
    completion: CompletionBytes,
    invoke: re.Match[bytes],
    limit: int,
    offered: Offered,
    read: ReadArguments,
) -> tuple[CallReading, int | None]:
    """The call of an invoke, and the offset after it; None where it does not end as it should."""
    name = completion.text(*invoke.span("name"))
    found = list(_parameters(tags, completion, invoke.end(), limit))
    at = found[-1][1] if found else invoke.end()
    end = tags.invoke_end.match(completion.data, at, limit)
    call = CallReading(start=invoke.start("tag"), end=at, name=name)
    if end is None:
        return call, None
    arguments = read([parameter for parameter, _ in found], offered.get(name, {}))
    return replace(call, end=end.end(), arguments=arguments), end.end()


def _parameters(
    tags: InvokeTags, completion: CompletionBytes, at: int, limit: int
) -> Iterator[tuple[InvokeParameter, int]]:
    """Each parameter and the offset after it."""
    opening = tags.parameter.match(completion.data, at, limit)
    while opening:
        close = tags.value_end.search(completion.data, opening.end(), limit)
        if close is None:
            return
        attributes = {key: value.decode("utf-8", "replace") for key, value in opening.groupdict().items()}
        text = completion.text(opening.end(), close.start())
        yield InvokeParameter(attributes["name"], attributes, text), close.end()
        opening = tags.parameter.match(completion.data, close.end(), limit)


__all__ = ["InvokeParameter", "InvokeTags", "ReadArguments", "invoke_tags", "read_invokes"]
