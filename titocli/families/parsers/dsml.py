"""Tool calls in DeepSeek's markup (``dsml``): V3.2, V4 and V4.1.

::

    <｜DSML｜function_calls>
    <｜DSML｜invoke name="f">
    <｜DSML｜parameter name="k" string="true">value</｜DSML｜parameter>
    </｜DSML｜invoke>
    </｜DSML｜function_calls>

V4 calls the block ``tool_calls``, V4.1 `` calls``, and puts a space before ``invoke`` and ``parameter`` as
well.  ``string`` says whether the value is text as it stands or JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from titocli.families.parsers.invoke_blocks import InvokeParameter, InvokeTags, invoke_tags, read_invokes
from titocli.families.parsers.spans import CompletionBytes
from titocli.families.parsers.strict_json import parse_strict, print_json
from titocli.families.parsers.tool_calls import Offered, Opening, Reading
from titocli.jsonvalue import JsonObject, JsonValue

_MARK = "｜DSML｜"
#: The block's name, and what stands before the names of the tags in it.
_SPELLINGS = (("function_calls", _MARK), ("tool_calls", _MARK), (" calls", f"{_MARK} "))


def _tags(block: str, prefix: str) -> InvokeTags:
    opening, closing = f"<{_MARK}{block}>", f"</{_MARK}{block}>"
    return invoke_tags(opening, closing, prefix=prefix, attributes=' string="(?P<string>true|false)"')


#: The closing mark of each opening mark.
MARKS: Mapping[bytes, bytes] = MappingProxyType(
    {f"<{_MARK}{block}>".encode(): f"</{_MARK}{block}>".encode() for block, _ in _SPELLINGS}
)
_TAGS = MappingProxyType({f"<{_MARK}{block}>".encode(): _tags(block, prefix) for block, prefix in _SPELLINGS})


def read_dsml(completion: CompletionBytes, opening: Opening, offered: Offered) -> Reading:
    """Reads the block after its opening tag.  (A ``Reader``; this grammar needs no schemas.)"""
    return read_invokes(_TAGS[opening.mark], completion, opening, offered, _arguments)


def _arguments(parameters: Sequence[InvokeParameter], schema: JsonObject) -> str | None:  # noqa: ARG001
    try:
        values = {each.name: _value(each) for each in parameters}
    except ValueError:
        return None
    return print_json(values) if len(values) == len(parameters) else None


def _value(parameter: InvokeParameter) -> JsonValue:
    return parameter.text if parameter.attributes["string"] == "true" else parse_strict(parameter.text)


__all__ = ["MARKS", "read_dsml"]
