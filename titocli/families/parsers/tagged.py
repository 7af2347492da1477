"""Completions of reasoning in think tags, then content, then calls between marks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from titocli.families.parsers.anatomy import Anatomy, Range
from titocli.families.parsers.reasoning import ThinkLayout, find_reasoning
from titocli.families.parsers.spans import CompletionBytes
from titocli.families.parsers.tool_calls import After, CallGrammar, FoundBlock, Offered, Spacing, find_blocks


def read_tagged(
    layout: ThinkLayout | None,
    grammar: CallGrammar | None,
    completion: CompletionBytes,
    generation_prompt: str,
    offered: Offered,
) -> Anatomy:
    """The anatomy of a completion; without a layout it has no reasoning, without a grammar no calls."""
    reasoning = find_reasoning(layout, completion.data, generation_prompt)
    start = reasoning.content_start
    blocks = list(find_blocks(grammar, completion, start, offered)) if grammar else []
    return Anatomy(
        status=reasoning.status,
        block=(reasoning.start, reasoning.end),
        reasoning=((reasoning.text_start, reasoning.text_end),),
        content=tuple(_content(grammar, completion, start, blocks)),
        calls=tuple(call for block in blocks for call in block.calls),
    )


def _content(
    grammar: CallGrammar | None, completion: CompletionBytes, start: int, blocks: Sequence[FoundBlock]
) -> Iterator[Range]:
    """The text outside of the calls.

    Where the calls stand as the family's template writes them, at the end with its separators, the
    separators are no content.
    """
    called = [block for block in blocks if block.called]
    edges = [start, *(edge for block in called for edge in (block.start, block.end)), len(completion.data)]
    outside = list(islice(pairwise(edges), 0, None, 2))
    if grammar and called and _as_templated(grammar.spacing, completion, outside, called):
        yield _before_calls(grammar.spacing, completion, *outside[0])
        return
    for gap, block in zip(outside, called, strict=False):
        yield gap
        yield from _uncalled(block)
    yield outside[-1]


def _uncalled(block: FoundBlock) -> Iterator[Range]:
    """What stays content of a block that has calls: the attempts that are none."""
    return ((call.start, call.end) for call in block.calls if not call.status.called)


def _as_templated(
    spacing: Spacing, completion: CompletionBytes, outside: Sequence[Range], called: Sequence[FoundBlock]
) -> bool:
    between = all(completion.text(*gap) == spacing.between for gap in outside[1:-1])
    # A model may stop before the newline that the template writes at the end.
    ended = completion.text(*outside[-1]) in {spacing.after, ""}
    return between and ended and not any(uncalled for block in called for uncalled in _uncalled(block))


def _before_calls(spacing: Spacing, completion: CompletionBytes, start: int, end: int) -> Range:
    """Content before the first call, without what the template puts there again."""
    text = completion.text(start, end)
    content = text.removesuffix(spacing.before)
    written = {After.ANYTHING: True, After.TEXT: bool(content), After.VISIBLE_TEXT: bool(content.strip())}
    if content == text or not written[spacing.before_after]:
        return start, end
    return start, end - len(spacing.before.encode())


__all__ = ["read_tagged"]
