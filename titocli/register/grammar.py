"""Which known grammars read what the template writes: reasoning first, then tool calls.

A turn is rendered, cut at its generation prompt, encoded and parsed; a grammar fits where it gives back the
turn's reasoning, content and calls.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from titocli.families.family import Family, Glue, Parsers, ReasoningGrammar, ToolCallGrammar
from titocli.families.parsers.completion import parse_completion
from titocli.families.parsers.parsed import ParsedCompletion
from titocli.families.parsers.reasoning import THINK_LAYOUTS
from titocli.families.registry import all_contracts
from titocli.jsonvalue import JsonObject, JsonValue
from titocli.register.findings import Finding, Inferred
from titocli.register.probes import TOOL_NAME, Probe, content_word, probe, reasoning_word
from titocli.register.subject import Subject

Kwargs = Mapping[str, JsonValue]

_REASONING = ("UA", "SUA", "UAUA")
_CALLS = ("UC", "SUC", "UcTc", "UD", "UCTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """One rendered assistant turn: the text that the model would have written after ``prompt``."""

    probe: Probe
    prompt: str
    completion: str

    @property
    def message(self) -> JsonObject:
        return self.probe.messages[-1]


def infer_parsers(
    subject: Subject, family: Family, settings: Sequence[Kwargs]
) -> tuple[Parsers, tuple[Finding, ...]]:
    """The parsers for a contract whose boundary is known, and why these.

    Of ``settings`` of kwargs the one counts under which most turns print their reasoning and go on from their
    generation prompt: with thinking off, a turn with reasoning does not.
    """
    kwargs = max(settings, key=lambda one: _usable_turns(subject, one))
    reasoning = _reasoning(subject, family, kwargs)
    with_reasoning = replace(family, parsers=Parsers(reasoning=reasoning.value))
    calls = _tool_calls(subject, with_reasoning, kwargs)
    parsers = Parsers(reasoning=reasoning.value, tool_call=calls.value)
    return with_sglang_names(parsers), (reasoning.finding, calls.finding)


def _usable_turns(subject: Subject, kwargs: Kwargs) -> tuple[int, int]:
    turns = _turns(subject, kwargs, (*_REASONING, *_CALLS))
    return sum(_shows_reasoning(turn) for turn in turns), len(turns)


def _shows_reasoning(turn: _Turn) -> bool:
    return bool(_reasoning_of(turn)) and _reasoning_of(turn) in turn.completion


def _reasoning(subject: Subject, family: Family, kwargs: Kwargs) -> Inferred[ReasoningGrammar | None]:
    turns = _turns(subject, kwargs, (*_REASONING, *_CALLS))
    printed = [turn for turn in turns if _shows_reasoning(turn)]
    if not printed:
        return _none("reasoning parser", len(turns), "the template prints no reasoning")
    scores = {
        one: sum(_reads_reasoning(subject, replace(family, parsers=_for(one)), turn) for turn in printed)
        for one in ReasoningGrammar
    }
    best = max(scores.values())
    if best < len(printed):
        return _none("reasoning parser", len(printed), "no known grammar reads the reasoning that it prints")
    fitting = [one for one in ReasoningGrammar if scores[one] == best]
    layout, strips = _layout(printed[0]), _strips_newlines(subject, kwargs)
    # Several read plain text alike; they differ in the newlines that they take for the template's own.
    chosen = min(fitting, key=lambda one: (_layout_of(one) != layout, _is_stripping(one) != strips))
    finding = _found("reasoning parser", chosen.value, best, len(printed))
    return Inferred(value=chosen, finding=finding)


def _tool_calls(subject: Subject, family: Family, kwargs: Kwargs) -> Inferred[ToolCallGrammar | None]:
    turns = _turns(subject, kwargs, _CALLS)
    printed = [turn for turn in turns if TOOL_NAME in turn.completion]
    if not printed:
        return _none("tool-call parser", len(turns), "the template prints no tool calls")
    parsers = family.parsers
    in_blocks = parsers.reasoning is ReasoningGrammar.INKLING_BLOCKS
    scores = {
        one: _score(subject, replace(family, parsers=replace(parsers, tool_call=one)), printed)
        for one in ToolCallGrammar
        # Blocks hold reasoning and calls alike.
        if in_blocks == (one is ToolCallGrammar.INKLING_BLOCKS)
    }
    chosen = max(scores, key=lambda one: scores[one])
    if scores[chosen] < len(printed):
        return _none("tool-call parser", len(printed), "no known grammar reads the tool calls that it prints")
    return Inferred(
        value=chosen, finding=_found("tool-call parser", chosen.value, scores[chosen], len(printed))
    )


def _for(reasoning: ReasoningGrammar) -> Parsers:
    if reasoning is ReasoningGrammar.INKLING_BLOCKS:
        return Parsers(reasoning=reasoning, tool_call=ToolCallGrammar.INKLING_BLOCKS)
    return Parsers(reasoning=reasoning)


def _reasoning_of(turn: _Turn) -> str:
    return reasoning_word(turn.message)


def _reads_reasoning(subject: Subject, family: Family, turn: _Turn) -> bool:
    """Whether reasoning comes back, and content after it; calls may still stand in the content."""
    parsed = _parsed(subject, family, turn)
    return parsed.reasoning_content == _reasoning_of(turn) and parsed.content.startswith(
        content_word(turn.message)
    )


def _layout(turn: _Turn) -> tuple[str, ...]:
    """What the template writes from the think tag to the reasoning, and on to the content."""
    text = turn.prompt + turn.completion
    head = text.partition(_reasoning_of(turn))[0].rpartition("<think>")[2]
    rest = text.partition(_reasoning_of(turn))[2]
    tail, _, after = rest.partition("</think>")
    return head, tail, after.partition(content_word(turn.message))[0]


def _layout_of(grammar: ReasoningGrammar) -> tuple[str, ...]:
    layout = THINK_LAYOUTS.get(grammar)
    if layout is None:
        return ()
    if layout.strips:
        return "\n", "\n", "\n" * layout.after
    return layout.head.decode(), layout.tail.decode(), "\n" * layout.after


def _turns(subject: Subject, kwargs: Kwargs, letters: Sequence[str]) -> list[_Turn]:
    turns = (_turn(subject, kwargs, probe(one, tools=True)) for one in letters)
    return [turn for turn in turns if turn is not None]


def _turn(subject: Subject, kwargs: Kwargs, one: Probe) -> _Turn | None:
    """The last turn of a probe; None where it does not go on from a generation prompt, as none then could."""
    end = len(one.letters)
    before = subject.state(one, end - 1, kwargs)
    opened = subject.state(one, end - 1, kwargs, generation_prompt=True)
    text = subject.state(one, end, kwargs)
    if before is None or opened is None or text is None:
        return None
    if not opened.startswith(before) or not text.startswith(opened):
        return None
    return _Turn(probe=one, prompt=opened.removeprefix(before), completion=text.removeprefix(opened))


def _score(subject: Subject, family: Family, turns: Sequence[_Turn]) -> int:
    return sum(_reads(turn, _parsed(subject, family, turn), family) for turn in turns)


def _parsed(subject: Subject, family: Family, turn: _Turn) -> ParsedCompletion:
    glue = family.boundary.text if isinstance(family.boundary, Glue) else ""
    return parse_completion(
        family,
        subject.tokenizer,
        subject.tokenizer.encode(turn.completion.removesuffix(glue)),
        generation_prompt=turn.prompt,
        tools=turn.probe.tools,
        turn="probe",
    )


def _reads(turn: _Turn, parsed: ParsedCompletion, family: Family) -> bool:
    """Whether the parsed turn says what the message said."""
    message = turn.message
    if parsed.content != message["content"]:
        return False
    if family.parsers.reasoning is not None and parsed.reasoning_content != message.get("reasoning_content"):
        return False
    calls = [(call.name, json.loads(call.arguments)) for call in parsed.tool_calls]
    return calls == _calls(message)


def _calls(message: JsonObject) -> list[tuple[JsonValue, JsonValue]]:
    calls = message.get("tool_calls", ())
    functions = (
        [call["function"] for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    )
    return [(one["name"], one["arguments"]) for one in functions]


def _strips_newlines(subject: Subject, kwargs: Kwargs) -> bool:
    """Whether reasoning with newlines around it prints as reasoning without."""
    texts = [
        subject.text(
            [
                {"role": "user", "content": "said0x"},
                {"role": "assistant", "content": "said1x", "reasoning_content": reasoning},
            ],
            (),
            kwargs,
        )
        for reasoning in ("thought1x", "\nthought1x\n")
    ]
    return texts[0] == texts[1]


def _is_stripping(grammar: ReasoningGrammar) -> bool:
    return grammar in THINK_LAYOUTS and THINK_LAYOUTS[grammar].strips


def _found(name: str, value: str, held: int, probes: int) -> Finding:
    sentence = "turns that it reads back as they were given"
    return Finding(name=name, value=value, held=held, probes=probes, sentence=sentence)


def _none(name: str, probes: int, sentence: str) -> Inferred[None]:
    finding = Finding(name=name, value="none", held=0, probes=probes, sentence=sentence)
    return Inferred(value=None, finding=finding)


def with_sglang_names(parsers: Parsers) -> Parsers:
    """``parsers`` with the names that the built-in families give SGLang's parsers of the same text."""
    known = [family.parsers for family in all_contracts()]
    both = [one for one in known if (one.reasoning, one.tool_call) == (parsers.reasoning, parsers.tool_call)]
    reasoning = [one.sglang_reasoning for one in (*both, *known) if one.reasoning is parsers.reasoning]
    calls = [one.sglang_tool_call for one in (*both, *known) if one.tool_call is parsers.tool_call]
    return replace(
        parsers,
        sglang_reasoning=next(iter(reasoning), None) if parsers.reasoning else None,
        sglang_tool_call=next(iter(calls), None) if parsers.tool_call else None,
    )


__all__ = ["infer_parsers", "with_sglang_names"]
