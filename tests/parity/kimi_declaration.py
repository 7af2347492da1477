"""The tool declaration that Kimi's tokenizer class makes: an independent copy of its code, and its fallback."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from tests.parity.public_code import kimi_tool_declaration


def declared(tools: Sequence[Mapping[str, object]]) -> str:
    """The text of ``tools_ts_str``, or the JSON that the template prints where that cannot be made."""
    ordered = _sorted(tools)
    try:
        text = kimi_tool_declaration().encode_tools_to_typescript_style(ordered)
    except Exception:  # noqa: BLE001 - as the tokenizer class does it
        text = ""
    return text or json.dumps(ordered, ensure_ascii=False, separators=(",", ":"))


def _sorted(value: object) -> object:
    # As the tokenizer class sorts the tools before anything else.
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [_sorted(item) for item in value]
    return value
