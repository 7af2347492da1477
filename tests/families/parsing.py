"""What the tests of the response parsers share: tokenizers, tools, and the text that templates write."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from titocli.families import chatml
from titocli.families.parsers.completion import parse_completion
from titocli.families.parsers.parsed import ParsedCompletion
from titocli.families.registry import get_family
from titocli.tokens.byte_level import byte_level_tokenizer

SPECIAL = frozenset(chatml.REQUIRED_TOKENS[:3])
#: One id a byte and one a tag.
TOKENIZER = byte_level_tokenizer(chatml.REQUIRED_TOKENS, special=SPECIAL)
#: Also ids that cut tags in the middle and reach over their edges.
MERGING = byte_level_tokenizer(
    ["<|im_end|>", "<|endoftext|>", "text<tool", "_call>\n{", "}\n</tool", "_call>\n<", ">\n\n", "nk>\n"],
    special=SPECIAL,
)

OPEN_THINK = "<|im_start|>assistant\n<think>\n"
NO_THINK = "<|im_start|>assistant\n<think>\n\n</think>\n\n"
UNOPENED = "<|im_start|>assistant\n"

Arguments = dict[str, Any]


def tool(name: str, **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def parse_ids(family: str, ids: Sequence[int], **options: Any) -> ParsedCompletion:
    known = {"tokenizer": TOKENIZER, "generation_prompt": NO_THINK, "tools": [], "turn": "t"} | options
    return parse_completion(get_family(family), known.pop("tokenizer"), ids, **known)


def parse(family: str, text: str, **options: Any) -> ParsedCompletion:
    return parse_ids(family, options.get("tokenizer", TOKENIZER).encode(text), **options)


def calls_of(parsed: ParsedCompletion) -> list[tuple[str, Any]]:
    return [(call.name, json.loads(call.arguments)) for call in parsed.tool_calls]


def statuses(parsed: ParsedCompletion) -> list[tuple[str, str | None]]:
    return [(attempt.status.value, attempt.name) for attempt in parsed.attempts]


def hermes_call(name: str, arguments: Arguments) -> str:
    call = {"name": name, "arguments": arguments}
    return f"<tool_call>\n{json.dumps(call, ensure_ascii=False)}\n</tool_call>"


def xml_call(name: str, arguments: dict[str, str]) -> str:
    parameters = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in arguments.items())
    return f"<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>"
