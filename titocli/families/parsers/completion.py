"""From the ids of a completion to an assistant message, for engines that do not parse."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from titocli.families.family import Family, ReasoningGrammar, ToolCallGrammar
from titocli.families.parsers.anatomy import Anatomy, Range
from titocli.families.parsers.grammars import CALL_GRAMMARS
from titocli.families.parsers.inkling_blocks import read_inkling_blocks
from titocli.families.parsers.parsed import (
    ParsedCompletion,
    ParsedToolCall,
    ReasoningBlock,
    ToolCallAttempt,
)
from titocli.families.parsers.reasoning import THINK_LAYOUTS, ThinkLayout
from titocli.families.parsers.spans import CompletionBytes, completion_bytes
from titocli.families.parsers.tagged import read_tagged
from titocli.families.parsers.tool_calls import CallGrammar, FoundCall, Offered, offered_tools
from titocli.jsonvalue import Tool
from titocli.tokens.tokenizer import Tokenizer


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
    is known and every value without a type of its own is a string.  Where the model writes no id of its own,
    a call's id depends on ``turn`` and the ids up to its end alone: ``turn`` tells apart turns that say the
    same.
    """
    completion = completion_bytes(family, tokenizer, ids)
    anatomy = read_anatomy(family, completion, generation_prompt, offered_tools(tools))
    names = CallIds(turn)
    return ParsedCompletion(
        content=_text(completion, anatomy.content),
        reasoning_content=_text(completion, anatomy.reasoning) or None,
        tool_calls=tuple(names.named(completion, call, ids) for call in anatomy.calls if call.status.called),
        attempts=tuple(_attempt(completion, call) for call in anatomy.calls),
        reasoning=_block(completion, anatomy),
    )


def read_anatomy(
    family: Family, completion: CompletionBytes, generation_prompt: str, offered: Offered
) -> Anatomy:
    """Which bytes of a completion are what, by the family's grammars."""
    if is_in_blocks(family):
        return read_inkling_blocks(completion, generation_prompt, offered)
    layout, grammar = tagged_grammars(family)
    return read_tagged(layout, grammar, completion, generation_prompt, offered)


def is_in_blocks(family: Family) -> bool:
    """Whether the family's completions are flat blocks, in which content has marks as well."""
    return family.parsers.tool_call is ToolCallGrammar.INKLING_BLOCKS or (
        family.parsers.reasoning is ReasoningGrammar.INKLING_BLOCKS
    )


def tagged_grammars(family: Family) -> tuple[ThinkLayout | None, CallGrammar | None]:
    """How a family that does not speak in blocks writes reasoning and calls; None where it has none."""
    reasoning, tool_call = family.parsers.reasoning, family.parsers.tool_call
    layout = None if reasoning is None else THINK_LAYOUTS[reasoning]
    return layout, None if tool_call is None else CALL_GRAMMARS[tool_call]


class CallIds:
    """Gives the calls of one completion their ids, in order."""

    def __init__(self, turn: str | int) -> None:
        self._origin = hashlib.sha256(json.dumps(turn).encode())
        self._ids_seen = 0
        self._calls_seen = 0

    def named(self, completion: CompletionBytes, call: FoundCall, ids: Sequence[int]) -> ParsedToolCall:
        """The next call, with the model's own id or one made of the turn, the ids so far and its place."""
        _, end = completion.ids_of(call.start, call.end)
        self._origin.update(json.dumps([self._calls_seen, *ids[self._ids_seen : end]]).encode())
        self._ids_seen = max(end, self._ids_seen)
        self._calls_seen += 1
        made = f"call_{self._origin.hexdigest()[:24]}"
        return ParsedToolCall(id=call.id or made, name=call.name or "", arguments=call.arguments or "{}")


def _text(completion: CompletionBytes, ranges: Iterable[Range]) -> str:
    return "".join(completion.text(start, end) for start, end in ranges)


def _attempt(completion: CompletionBytes, call: FoundCall) -> ToolCallAttempt:
    start, end = completion.ids_of(call.start, call.end)
    return ToolCallAttempt(status=call.status, start=start, end=end, name=call.name)


def _block(completion: CompletionBytes, anatomy: Anatomy) -> ReasoningBlock:
    start, end = completion.ids_of(*anatomy.block)
    return ReasoningBlock(status=anatomy.status, start=start, end=end)


__all__ = ["CallIds", "is_in_blocks", "parse_completion", "read_anatomy", "tagged_grammars"]
