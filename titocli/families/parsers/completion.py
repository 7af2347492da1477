"""From the ids of a completion to an assistant message, for engines that do not parse."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise

from titocli.families.family import Family, ToolCallGrammar
from titocli.families.parsers.hermes import read_hermes
from titocli.families.parsers.parsed import (
    ParsedCompletion,
    ParsedToolCall,
    ReasoningBlock,
    ToolCallAttempt,
)
from titocli.families.parsers.reasoning import ReasoningSpan, find_reasoning
from titocli.families.parsers.spans import CompletionBytes, completion_bytes
from titocli.families.parsers.tool_calls import FoundCall, Reader, find_calls, offered_tools
from titocli.families.parsers.xml_parameters import read_xml_parameters
from titocli.jsonvalue import Tool
from titocli.tokens.tokenizer import Tokenizer

_READERS: Mapping[ToolCallGrammar, Reader] = {
    ToolCallGrammar.HERMES_JSON: read_hermes,
    ToolCallGrammar.XML_PARAMETERS: read_xml_parameters,
}


def parse_completion(
    family: Family,
    tokenizer: Tokenizer,
    ids: Sequence[int],
    *,
    generation_prompt: str,
    tools: Sequence[Tool],
    turn: str | int,
) -> ParsedCompletion:
    """What the completion ``ids`` say, by the family's grammars; any ids give an answer.

    ``generation_prompt`` is the text that opened the turn.  ``tools`` are OpenAI's; without any, every name
    is known and every XML parameter is a string.  Call ids depend on ``turn`` and ``ids`` alone: ``turn``
    tells apart turns that say the same.
    """
    completion = completion_bytes(family, tokenizer, ids)
    reasoning = find_reasoning(family.parsers.reasoning, completion.data, generation_prompt)
    grammar = family.parsers.tool_call
    found = _found_calls(grammar, completion, reasoning.content_start, tools)
    called = [call for call in found if call.status.called]
    return ParsedCompletion(
        content=_content(grammar, completion, reasoning.content_start, called),
        reasoning_content=completion.text(reasoning.text_start, reasoning.text_end).strip("\n") or None,
        tool_calls=tuple(_parsed_calls(called, turn, ids)),
        attempts=tuple(_attempt(completion, call) for call in found),
        reasoning=_block(completion, reasoning),
    )


def _found_calls(
    grammar: ToolCallGrammar | None, completion: CompletionBytes, start: int, tools: Sequence[Tool]
) -> list[FoundCall]:
    if grammar is None:
        return []
    return list(find_calls(_READERS[grammar], completion, start, offered_tools(tools)))


def _content(
    grammar: ToolCallGrammar | None, completion: CompletionBytes, start: int, called: Sequence[FoundCall]
) -> str:
    """The text outside of the calls.

    Where the calls stand as the family's template writes them, at the end with a newline between, the
    newlines that it writes are no content.
    """
    edges = [start, *(edge for call in called for edge in (call.start, call.end)), len(completion.data)]
    outside = [completion.text(*gap) for gap in islice(pairwise(edges), 0, None, 2)]
    as_templated = called and not outside[-1] and all(gap == "\n" for gap in outside[1:-1])
    return _without_separator(grammar, outside[0]) if as_templated else "".join(outside)


def _without_separator(grammar: ToolCallGrammar | None, before: str) -> str:
    """Text before the first call without what the template puts there again.

    It puts nothing after empty text.  Text of a newline alone stays: Qwen3's template, which strips newlines
    at the start, prints it as that newline.
    """
    if grammar is ToolCallGrammar.XML_PARAMETERS:
        return before.removesuffix("\n\n") if before.strip() else before
    return before.removesuffix("\n") or before


def _parsed_calls(
    called: Sequence[FoundCall], turn: str | int, ids: Sequence[int]
) -> Iterator[ParsedToolCall]:
    origin = hashlib.sha256(json.dumps([turn, list(ids)]).encode())
    for index, call in enumerate(called):
        digest = origin.copy()
        digest.update(str(index).encode())
        yield ParsedToolCall(
            id=f"call_{digest.hexdigest()[:24]}", name=call.name or "", arguments=call.arguments or "{}"
        )


def _attempt(completion: CompletionBytes, call: FoundCall) -> ToolCallAttempt:
    start, end = completion.ids_of(call.start, call.end)
    return ToolCallAttempt(status=call.status, start=start, end=end, name=call.name)


def _block(completion: CompletionBytes, reasoning: ReasoningSpan) -> ReasoningBlock:
    start, end = completion.ids_of(reasoning.start, reasoning.end)
    return ReasoningBlock(status=reasoning.status, start=start, end=end)


__all__ = ["parse_completion"]
