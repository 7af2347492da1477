"""Completions read while they grow.

The text and the calls that a stream gives are those of the whole parse: nothing is given that more ids could
change.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from titocli.families.family import Family
from titocli.families.parsers.completion import CallIds, is_in_blocks, parse_completion, tagged_grammars
from titocli.families.parsers.inkling_stream import InklingStream
from titocli.families.parsers.parsed import ParsedCompletion, ParsedToolCall
from titocli.families.parsers.spans import CompletionBytes, from_bytes, spelling, spoken_count, stop_ids
from titocli.families.parsers.stream_parts import CallPart, Part, StreamReader, TextKind
from titocli.families.parsers.tagged_stream import TaggedStream
from titocli.families.parsers.tool_calls import Offered, offered_tools
from titocli.jsonvalue import Tool
from titocli.tokens.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class ContentDelta:
    """More content."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A finished tool call; ``index`` counts the calls of the completion from 0."""

    index: int
    call: ParsedToolCall


Delta: TypeAlias = ReasoningDelta | ContentDelta | ToolCallDelta


class StreamingParser:
    """Reads one completion in pieces; the parameters are those of ``parse_completion``.

    The deltas of every ``feed`` and then of ``flush`` together are the reasoning, content and calls of
    ``finish``, for any cut of the ids into pieces.  Text may be held back long: where it may be part of a
    mark or of the newlines that a template writes, and behind a call or what looks like one.
    """

    def __init__(
        self,
        family: Family,
        tokenizer: Tokenizer,
        generation_prompt: str,
        tools: Sequence[Tool],
        turn: str | int,
    ) -> None:
        self._family = family
        self._tokenizer = tokenizer
        self._prompt = generation_prompt
        self._tools = tools
        self._turn = turn
        self._stops = stop_ids(family, tokenizer)
        self._ids: list[int] = []
        self._data = bytearray()
        self._edges = [0]
        self._reader = _reader(family, generation_prompt, offered_tools(tools))
        self._decoders = {kind: codecs.getincrementaldecoder("utf-8")("replace") for kind in TextKind}
        self._call_ids = CallIds(turn)
        self._given = dict.fromkeys(TextKind, 0)
        self._calls_given = 0

    def feed(self, ids: Iterable[int]) -> tuple[Delta, ...]:
        """What is certain with these ids that was not before."""
        self._ids.extend(ids)
        # Stop tokens are no text at the end, but are text before other ids.
        for token_id in self._ids[len(self._edges) - 1 : spoken_count(self._ids, self._stops)]:
            self._data += spelling(self._tokenizer, token_id)
            self._edges.append(len(self._data))
        parts = self._reader.advance(self._data, self._snapshot)
        return tuple(delta for part in parts for delta in self._delta(part))

    def flush(self) -> tuple[Delta, ...]:
        """What was held back, when the completion has ended."""
        whole = self.finish()
        reasoning = (whole.reasoning_content or "")[self._given[TextKind.REASONING] :]
        content = whole.content[self._given[TextKind.CONTENT] :]
        calls = whole.tool_calls[self._calls_given :]
        return (
            *self._text(TextKind.REASONING, reasoning),
            *self._text(TextKind.CONTENT, content),
            *(delta for call in calls for delta in self._call(call)),
        )

    def finish(self) -> ParsedCompletion:
        """The whole parse of the ids so far."""
        return parse_completion(
            self._family,
            self._tokenizer,
            self._ids,
            generation_prompt=self._prompt,
            tools=self._tools,
            turn=self._turn,
        )

    def _snapshot(self) -> CompletionBytes:
        return from_bytes(self._data, self._edges)

    def _delta(self, part: Part) -> Iterator[Delta]:
        if isinstance(part, CallPart):
            yield from self._call(self._call_ids.named(part.completion, part.call, self._ids))
            return
        data = bytes(self._data[part.start : part.end])
        yield from self._text(part.kind, self._decoders[part.kind].decode(data, part.ends))

    def _text(self, kind: TextKind, text: str) -> Iterator[Delta]:
        self._given[kind] += len(text)
        if text:
            yield ReasoningDelta(text) if kind is TextKind.REASONING else ContentDelta(text)

    def _call(self, call: ParsedToolCall) -> Iterator[Delta]:
        yield ToolCallDelta(self._calls_given, call)
        self._calls_given += 1


def _reader(family: Family, generation_prompt: str, offered: Offered) -> StreamReader:
    if is_in_blocks(family):
        return InklingStream(generation_prompt, offered)
    layout, grammar = tagged_grammars(family)
    return TaggedStream(layout, grammar, generation_prompt, offered)


__all__ = ["ContentDelta", "Delta", "ReasoningDelta", "StreamingParser", "ToolCallDelta"]
