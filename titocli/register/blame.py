"""Which condition of a template rewrites history, found by running it twice and comparing its decisions.

Both states of a conversation are rendered with every ``if`` (and the iterable of every ``for``) noted
together with how much text was out by then.  Where the two texts part, the first decision that differs since
the last common piece of text is the one to blame.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

from jinja2 import nodes
from jinja2.visitor import NodeTransformer

from titocli.families.environment import ChatEnvironment
from titocli.families.family import Role
from titocli.jsonvalue import JsonObject, JsonValue
from titocli.register.probes import Probe, probe
from titocli.register.rewriting import CORE_ROLES, Rewrite, rewrites
from titocli.register.subject import Subject

Kwargs = Mapping[str, JsonValue]

_MAX_MESSAGES = 5
_LETTERS = "UAaCcTS"
_SHOWN = 60
_CONDITION = re.compile(r"\{%[-+]?\s*(?:el)?if\s+(.*?)\s*[-+]?%\}", re.DOTALL)
_LOOP = re.compile(r"\{%[-+]?\s*(for\s+.*?)\s*[-+]?%\}", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Blame:
    """Why a template is not append-only.

    ``probe`` is the smallest conversation found: the text of its first ``turn_end`` messages is not how that
    of all begins.  ``line`` and ``expression`` are the decision of the template that differs between the two
    (None where none could be found), ``before`` and ``after`` its values; ``was`` and ``becomes`` are the
    text from the first difference on.
    """

    probe: Probe
    turn_end: int
    file: str
    line: int | None
    expression: str | None
    before: str
    after: str
    was: str
    becomes: str

    @property
    def sentence(self) -> str:
        """The finding as a sentence; its text is of the probe alone."""
        roles = ", ".join(str(message["role"]) for message in self.probe.messages[: self.turn_end])
        appended = ", ".join(str(one["role"]) for one in self.probe.messages[self.turn_end :])
        changes = f"appending {appended} to [{roles}] turns {self.was!r} into {self.becomes!r}"
        if self.line is None:
            return f"{self.file} rewrites history: {changes}"
        decision = f"{self.expression} ({self.before} before, {self.after} after)"
        return f"{self.file}:{self.line} rewrites history by {decision}: {changes}"

    def as_json(self) -> JsonObject:
        """The finding as JSON data, with the conversation."""
        return {
            "file": self.file,
            "line": self.line,
            "expression": self.expression,
            "before": self.before,
            "after": self.after,
            "conversation": list(self.probe.messages),
            "turn_end": self.turn_end,
            "was": self.was,
            "becomes": self.becomes,
            "sentence": self.sentence,
        }


def blame(subject: Subject, kwargs: Kwargs, roles: Sequence[Role] = CORE_ROLES) -> Blame | None:
    """The smallest rewriting of a template with these kwargs, and the condition behind it."""
    found = _smallest(subject, kwargs, roles)
    if found is None:
        return None
    one, end = found.probe, found.state_end
    cut = probe(one.letters[:end], tools=bool(one.tools))
    traced = _Tracer(subject, kwargs)
    first, second = traced.run(cut, found.turn_end), traced.run(cut, end)
    at = _first_difference(first.text, second.text)
    decision = _decision(first.events, second.events, at)
    node, before, after = decision or (None, "", "")
    return Blame(
        probe=cut,
        turn_end=found.turn_end,
        file=subject.template.source.name,
        line=None if node is None else node.lineno,
        expression=None if node is None else _spelled(subject.template.source.text, node, traced.nodes),
        before=before,
        after=after,
        was=first.text[at : at + _SHOWN],
        becomes=second.text[at : at + _SHOWN],
    )


def _smallest(subject: Subject, kwargs: Kwargs, roles: Sequence[Role]) -> Rewrite | None:
    """The first rewriting among all conversations, the shortest first."""
    for length in range(2, _MAX_MESSAGES + 1):
        for letters in map("".join, product(_LETTERS, repeat=length)):
            if _is_plausible(letters):
                found = next(iter(rewrites(subject, [probe(letters)], kwargs, roles)), None)
                if found is not None:
                    return found
    return None


def _is_plausible(letters: str) -> bool:
    """Whether an agent could send it: it starts with a question, and a call has one result right after it."""
    pairs = pairwise(letters)
    return bool(re.match("S?U", letters)) and all((a in "Cc") == (b == "T") for a, b in pairs)


@dataclass(frozen=True, slots=True)
class _Event:
    """A decision: ``node`` had ``value`` when ``offset`` characters were out."""

    node: nodes.Node
    value: str
    offset: int


@dataclass(frozen=True, slots=True)
class _Run:
    text: str
    events: tuple[_Event, ...]


class _Tracer:
    """Renders states of one template and notes its decisions."""

    def __init__(self, subject: Subject, kwargs: Kwargs) -> None:
        self._environment = _TracingEnvironment()
        self._template = self._environment.from_string(subject.template.source.text)
        self._kwargs = {**subject.kwargs, **kwargs}

    @property
    def nodes(self) -> Sequence[nodes.Node]:
        """Every decision of the template, in the order of its source."""
        return self._environment.known

    def run(self, one: Probe, end: int) -> _Run:
        variables = {**self._kwargs, "messages": list(one.messages[:end]), "tools": list(one.tools) or None}
        events, text = self._environment.started(), ""
        for piece in self._template.generate(variables, add_generation_prompt=False, documents=None):
            text += piece
            self._environment.printed = len(text)
        return _Run(text, tuple(events))


class _TracingEnvironment(ChatEnvironment):
    """The environment of chat templates, with every decision noted."""

    def __init__(self) -> None:
        super().__init__()
        self.filters["_decided"] = self._decided
        self.known: list[nodes.Node] = []
        self._events: list[_Event] = []
        self.printed = 0

    def started(self) -> list[_Event]:
        """A new list of events, for a new render."""
        self._events, self.printed = [], 0
        return self._events

    def _decided(self, value: Any, number: int) -> Any:
        node = self.known[number]
        shown = "loop" if isinstance(node, nodes.For) else str(bool(value)).lower()
        self._events.append(_Event(node, shown, self.printed))
        return value

    def _generate(self, source: nodes.Template, *args: Any, **kwargs: Any) -> str:
        _NoteDecisions(self.known).visit(source)
        return super()._generate(source, *args, **kwargs)


class _NoteDecisions(NodeTransformer):
    """Sends every condition, and what every loop iterates over, through ``_decided``."""

    def __init__(self, known: list[nodes.Node]) -> None:
        # In the order of the source: a node before those inside it.
        self._known = known

    def _number(self, node: nodes.Node) -> int:
        self._known.append(node)
        return len(self._known) - 1

    def visit_If(self, node: nodes.If) -> nodes.Node:  # noqa: N802 - the visitor's naming
        number = self._number(node)
        self.generic_visit(node)
        node.test = _noted(node, number, node.test)
        return node

    def visit_CondExpr(self, node: nodes.CondExpr) -> nodes.Node:  # noqa: N802 - the visitor's naming
        number = self._number(node)
        self.generic_visit(node)
        node.test = _noted(node, number, node.test)
        return node

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - the visitor's naming
        number = self._number(node)
        self.generic_visit(node)
        node.iter = _noted(node, number, node.iter)
        return node


def _noted(node: nodes.Node, number: int, expression: Any) -> nodes.Filter:
    return nodes.Filter(expression, "_decided", [nodes.Const(number)], [], None, None, lineno=node.lineno)


def _decision(
    first: Sequence[_Event], second: Sequence[_Event], at: int
) -> tuple[nodes.Node, str, str] | None:
    """The decision since the last text before ``at`` from which the two runs part, with its two values."""
    conditions = [_conditions(events, at) for events in (first, second)]
    offsets = {event.offset for event in conditions[0]} & {event.offset for event in conditions[1]}
    for offset in sorted(offsets, reverse=True):
        found = _parting([_at(events, offset) for events in conditions])
        if found is not None:
            return found
        if not _meet_the_same([_at(events, offset) for events in conditions]):
            break
    return _moved(first, second, at)


def _conditions(events: Sequence[_Event], at: int) -> list[_Event]:
    return [event for event in events if event.offset <= at and not isinstance(event.node, nodes.For)]


def _at(events: Sequence[_Event], offset: int) -> list[_Event]:
    return [event for event in events if event.offset == offset]


def _parting(runs: Sequence[Sequence[_Event]]) -> tuple[nodes.Node, str, str] | None:
    """The last differing decision before the runs meet other conditions: earlier ones changed nothing."""
    found = None
    for one, other in zip(*runs, strict=False):
        if one.node is not other.node:
            break
        if one.value != other.value:
            found = one.node, one.value, other.value
    return found


def _meet_the_same(runs: Sequence[Sequence[_Event]]) -> bool:
    return all(one.node is other.node for one, other in zip(*runs, strict=False))


def _moved(first: Sequence[_Event], second: Sequence[_Event], at: int) -> tuple[nodes.Node, str, str] | None:
    """The loop that a message has moved to, where both runs are in other loops."""
    before, after = (_loop_at(events, at) for events in (first, second))
    if before is None or after is None or before is after:
        return None
    return after, f"not in it but in the loop of line {before.lineno}", "in it"


def _loop_at(events: Sequence[_Event], at: int) -> nodes.Node | None:
    """The loop entered last before the text at ``at``."""
    entered = (event.node for event in reversed(events) if event.offset <= at)
    return next((node for node in entered if isinstance(node, nodes.For)), None)


def _first_difference(left: str, right: str) -> int:
    pairs = enumerate(zip(left, right, strict=False))
    return next((index for index, (one, other) in pairs if one != other), min(len(left), len(right)))


def _spelled(source: str, node: nodes.Node, known: Sequence[nodes.Node]) -> str:
    """A decision as the template spells it, in one line; ``known`` are all, in the order of the source."""
    lines = source.splitlines()
    if isinstance(node, nodes.CondExpr):
        return " ".join(lines[node.lineno - 1].split())
    beside = [one for one in known if type(one) is type(node) and one.lineno == node.lineno]
    pattern = _LOOP if isinstance(node, nodes.For) else _CONDITION
    found = list(pattern.finditer("\n".join(lines[node.lineno - 1 :])))
    place = next(index for index, one in enumerate(beside) if one is node)
    return " ".join(found[place][1].split()) if place < len(found) else lines[node.lineno - 1].strip()


__all__ = ["Blame", "blame"]
