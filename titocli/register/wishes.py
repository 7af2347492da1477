"""What a user says of a contract, over what was inferred."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TypeVar

from titocli.families.family import Family, Parsers, ReasoningGrammar, Role, ToolCallGrammar
from titocli.families.registry import all_contracts
from titocli.jsonvalue import JsonValue
from titocli.register.grammar import with_sglang_names

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """The parts of a contract that a user decides; empty ones stay as they are.

    A parser is named by titocli's grammar or by SGLang's parser.
    """

    fixed_kwargs: Mapping[str, JsonValue] = field(default_factory=dict)
    pinned_kwargs: tuple[str, ...] = ()
    append_roles: tuple[Role, ...] = ()
    reasoning_parser: str | None = None
    tool_call_parser: str | None = None

    def applied(self, family: Family) -> Family:
        """The family as it is wished; each kwarg stands in one place."""
        values = {**family.turn_kwargs, **family.pinned_kwargs}
        pinned = {name: values.get(name, ()) for name in self.pinned_kwargs}
        decided = {*self.fixed_kwargs, *pinned}
        return replace(
            family,
            fixed_kwargs={**_without(family.fixed_kwargs, decided), **self.fixed_kwargs},
            default_kwargs=_without(family.default_kwargs, decided),
            pinned_kwargs={**_without(family.pinned_kwargs, decided), **pinned},
            turn_kwargs=_without(family.turn_kwargs, decided),
            refused_kwargs=_without(family.refused_kwargs, decided),
            append_roles=self.append_roles or family.append_roles,
            parsers=_with_tool_call(
                _with_reasoning(family.parsers, self.reasoning_parser), self.tool_call_parser
            ),
        )

    def doubts(self) -> tuple[str, ...]:
        """A sentence for each parser that titocli has none of its own for."""
        known = [*ReasoningGrammar, *ToolCallGrammar]
        sglang = [name for one in _known() for name in (one.sglang_reasoning, one.sglang_tool_call) if name]
        names = dict.fromkeys([*known, *sglang])
        given = (self.reasoning_parser, self.tool_call_parser)
        return tuple(_doubt(name, list(names)) for name in given if name is not None and name not in names)


def _doubt(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, n=1, cutoff=0.6)
    asked = f"; did you mean {near[0]!r}?" if near else ""
    return f"titocli has no parser {name!r}: the name is passed to SGLang as it is{asked}"


def _without(kwargs: Mapping[str, Value], names: set[str]) -> dict[str, Value]:
    return {name: value for name, value in kwargs.items() if name not in names}


def _known() -> list[Parsers]:
    return [family.parsers for family in all_contracts()]


def _with_reasoning(parsers: Parsers, name: str | None) -> Parsers:
    if name is None:
        return parsers
    if name in list(ReasoningGrammar):
        own = with_sglang_names(replace(parsers, reasoning=ReasoningGrammar(name)))
        return replace(parsers, reasoning=own.reasoning, sglang_reasoning=own.sglang_reasoning)
    fitting = [one.reasoning for one in _known() if one.sglang_reasoning == name]
    grammar = parsers.reasoning if parsers.reasoning in fitting else next(iter(fitting), None)
    return replace(parsers, reasoning=grammar, sglang_reasoning=name)


def _with_tool_call(parsers: Parsers, name: str | None) -> Parsers:
    if name is None:
        return parsers
    if name in list(ToolCallGrammar):
        own = with_sglang_names(replace(parsers, tool_call=ToolCallGrammar(name)))
        return replace(parsers, tool_call=own.tool_call, sglang_tool_call=own.sglang_tool_call)
    fitting = [one.tool_call for one in _known() if one.sglang_tool_call == name]
    grammar = parsers.tool_call if parsers.tool_call in fitting else next(iter(fitting), None)
    return replace(parsers, tool_call=grammar, sglang_tool_call=name)


__all__ = ["Wishes"]
