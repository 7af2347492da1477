"""The grammar of a whole completion.

The built-in model has random weights: it is held to short printable text and to calls in the family's own
spelling, so that its output ends, reads and parses.  A real checkpoint is left alone, except that calls
which the client requires are enforced once its reasoning has ended.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from enum import StrEnum

from titocli.engine.embedded.grammar import Expr, Until, choice, literal, one_of, optional, sequence
from titocli.engine.embedded.json_schema import phrase
from titocli.engine.embedded.tool_choice import Need, ToolChoice
from titocli.engine.embedded.tool_grammar import before_calls, one_or_two_calls
from titocli.families.family import Family, ReasoningGrammar, ToolCallGrammar

_REASONING_CHARS = 24
_CONTENT_CHARS = 32
# "<" would begin a tag.
_VISIBLE = (string.ascii_letters + string.digits + string.punctuation).replace("<", "")
_THINK_OPEN, _THINK_CLOSE = literal("<think>\n"), literal("\n</think>\n\n")


class ThinkBlock(StrEnum):
    """Where the generation prompt leaves the think block."""

    NONE = "none"
    UNOPENED = "unopened"
    OPEN = "open"
    CLOSED = "closed"


def think_block(family: Family, generation_prompt: str) -> ThinkBlock:
    """The state of the think block at the end of ``generation_prompt``."""
    if family.parsers.reasoning in {None, ReasoningGrammar.INKLING_BLOCKS}:
        return ThinkBlock.NONE
    if generation_prompt.rstrip().endswith("<think>"):
        return ThinkBlock.OPEN
    return ThinkBlock.CLOSED if "</think>" in generation_prompt else ThinkBlock.UNOPENED


def spoken_grammar(family: Family, generation_prompt: str, tool_choice: ToolChoice) -> Expr:
    """What the built-in model says: reasoning where the family thinks, then text, calls, or both.

    A prompt that leaves the think block to the model gets one, as the family's template would write it.
    """
    thinking = _SPOKEN_REASONING[think_block(family, generation_prompt)]
    return sequence(thinking, _answer(family.parsers.tool_call, tool_choice))


def required_grammar(family: Family, generation_prompt: str, tool_choice: ToolChoice) -> Expr | None:
    """Free reasoning and then calls where calls are required; None (all is free) where they are not."""
    syntax = family.parsers.tool_call
    if tool_choice.need is not Need.REQUIRED or syntax is None:
        return None
    thinking = _FREE_REASONING[think_block(family, generation_prompt)]
    return sequence(thinking, one_or_two_calls(syntax, tool_choice.tools))


def _answer(syntax: ToolCallGrammar | None, tool_choice: ToolChoice) -> Expr:
    if syntax is None or tool_choice.need is Need.NONE:
        return _text(_CONTENT_CHARS)
    calls = one_or_two_calls(syntax, tool_choice.tools)
    before = sequence(_text(_CONTENT_CHARS), before_calls(syntax))
    if tool_choice.need is Need.REQUIRED:
        return sequence(optional(before), calls)
    return choice(_text(_CONTENT_CHARS), sequence(optional(before), calls))


def _text(most: int) -> Expr:
    return phrase(one_of(_VISIBLE + " "), one_of(_VISIBLE), 1, most)


_NOTHING = literal("")
_CLOSED_REASONING = sequence(optional(_text(_REASONING_CHARS)), _THINK_CLOSE)
_SPOKEN_REASONING: Mapping[ThinkBlock, Expr] = {
    ThinkBlock.NONE: _NOTHING,
    ThinkBlock.CLOSED: _NOTHING,
    ThinkBlock.OPEN: _CLOSED_REASONING,
    ThinkBlock.UNOPENED: sequence(_THINK_OPEN, _CLOSED_REASONING),
}
_THOUGHT = sequence(Until(b"</think>"), literal("\n\n"))
_FREE_REASONING: Mapping[ThinkBlock, Expr] = {
    ThinkBlock.NONE: _NOTHING,
    ThinkBlock.CLOSED: _NOTHING,
    ThinkBlock.OPEN: _THOUGHT,
    ThinkBlock.UNOPENED: optional(sequence(literal("<think>"), _THOUGHT)),
}


__all__ = ["ThinkBlock", "required_grammar", "spoken_grammar", "think_block"]
