"""The smallest conversation that still fails in the same way.

Parts are left out and texts made short as long as the failure stays; the work is bounded, so that a template
that fails everywhere costs no more than one that fails once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from titocli.errors import TemplateRaised, TitoError
from titocli.families.family import Role
from titocli.jsonvalue import JsonObject, JsonValue, Message
from titocli.verify.checks.finding import Check, Finding
from titocli.verify.contract import Contract
from titocli.verify.events import Case, FailureKind
from titocli.verify.examine import raised_finding
from titocli.verify.locate import Lines, lines_of
from titocli.verify.states import States

#: Conversations that are tried to make one smaller.
_TRIES = 400
#: What a text becomes, in the order in which it is tried.
_SHORT = ("", "x")


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The smallest conversation, with what the check says of it."""

    states: States
    finding: Finding


def shrink(contract: Contract, check: Check, states: States, finding: Finding) -> Shrunk:
    """A conversation as small as was found that fails ``check`` by the same kind, at the same lines."""
    search = _Search(contract, check, Shrunk(states, finding), lines_of(states, finding))
    while search.step():
        pass
    return search.best


@dataclass(slots=True)
class _Search:
    contract: Contract
    check: Check
    best: Shrunk
    lines: Lines
    tries_left: int = _TRIES

    def step(self) -> bool:
        """One round through all ways to make the conversation smaller; whether one of them did."""
        smaller = False
        for way in _WAYS:
            while self._by(way):
                smaller = True
        return smaller

    def _by(self, way: Callable[[Case], Iterator[Case]]) -> bool:
        return any(self._accept(candidate) for candidate in way(self.best.states.case))

    def _accept(self, candidate: Case) -> bool:
        if self.tries_left <= 0:
            return False
        self.tries_left -= 1
        states = States(self.contract, candidate)
        found = self._found(states)
        if found is None or _shape(found) != _shape(self.best.finding):
            return False
        if lines_of(states, found) != self.lines:
            return False
        self.best = Shrunk(states, found)
        return True

    def _found(self, states: States) -> Finding | None:
        try:
            return self.check.find(states)
        except TemplateRaised as error:
            return raised_finding(states, error)
        except TitoError:
            return None


def _shape(finding: Finding) -> tuple[FailureKind, bool]:
    return finding.kind, finding.turn_end is None


def _fewer_messages(case: Case) -> Iterator[Case]:
    """Without a stretch of messages, long stretches first; what began with a question goes on to."""
    count = len(case.messages)
    answered_first = case.messages[0]["role"] == Role.ASSISTANT
    length = count - 1
    while length:
        for start in range(count - length + 1):
            kept = (*case.messages[:start], *case.messages[start + length :])
            if _is_realistic(kept) and (answered_first or kept[0]["role"] != Role.ASSISTANT):
                yield replace(case, messages=kept)
        length //= 2


def _is_realistic(messages: Sequence[Message]) -> bool:
    """Whether every run of tool results stands behind the calls that it answers."""
    waiting = 0
    for message in messages:
        if message["role"] == Role.TOOL:
            if not waiting:
                return False
            waiting -= 1
        else:
            calls = message.get("tool_calls")
            waiting = len(calls) if isinstance(calls, Sequence) else 0
    return bool(messages)


def _fewer_tools(case: Case) -> Iterator[Case]:
    if case.tools is not None:
        yield replace(case, tools=None)
    for index in range(len(case.tools or ())):
        tools = case.tools or ()
        yield replace(case, tools=(*tools[:index], *tools[index + 1 :]))


def _fewer_kwargs(case: Case) -> Iterator[Case]:
    if case.kwargs:
        yield replace(case, kwargs={})
    for name in case.kwargs:
        yield replace(case, kwargs={key: value for key, value in case.kwargs.items() if key != name})


def _fewer_calls(case: Case) -> Iterator[Case]:
    """Without one call and its result."""
    for index, message in enumerate(case.messages):
        calls = message.get("tool_calls")
        if not isinstance(calls, Sequence) or isinstance(calls, str):
            continue
        for number, call in enumerate(calls):
            fewer = [*calls[:number], *calls[number + 1 :]]
            kept = {key: value for key, value in message.items() if key != "tool_calls"}
            shorter = {**kept, "tool_calls": fewer} if fewer else kept
            rest = _without_result(case.messages[index + 1 :], call)
            messages = (*case.messages[:index], shorter, *rest)
            if _is_realistic(messages):
                yield replace(case, messages=messages)


def _without_result(messages: Sequence[Message], call: JsonValue) -> tuple[Message, ...]:
    answered = call.get("id") if isinstance(call, Mapping) else None
    return tuple(one for one in messages if answered is None or one.get("tool_call_id") != answered)


def _fewer_members(case: Case) -> Iterator[Case]:
    """Without reasoning, names, and other members that a message does not need."""
    for index, message in enumerate(case.messages):
        for name in message:
            if name not in {"role", "content", "tool_calls", "tool_call_id"}:
                kept = {key: value for key, value in message.items() if key != name}
                yield _with_message(case, index, kept)


def _shorter_texts(case: Case) -> Iterator[Case]:
    for index, message in enumerate(case.messages):
        for name in ("content", "reasoning_content", "reasoning"):
            for short in _SHORT:
                if name in message and _is_longer(message[name], short):
                    yield _with_message(case, index, {**message, name: short})


def _is_longer(value: JsonValue, short: str) -> bool:
    return value not in _SHORT or (short == "" and value == "x")


def _shorter_arguments(case: Case) -> Iterator[Case]:
    for index, message in enumerate(case.messages):
        calls = message.get("tool_calls")
        if not isinstance(calls, Sequence) or isinstance(calls, str):
            continue
        for number, call in enumerate(calls):
            for shorter in _shorter_call(call):
                changed = [*calls[:number], shorter, *calls[number + 1 :]]
                yield _with_message(case, index, {**message, "tool_calls": changed})


def _shorter_call(call: JsonValue) -> Iterator[JsonObject]:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(function, Mapping):
        return
    arguments = function.get("arguments")
    if arguments != {}:
        yield {**call, "function": {**function, "arguments": {}}}
    if isinstance(arguments, Mapping) and len(arguments) > 1:
        for name in arguments:
            fewer = {key: value for key, value in arguments.items() if key != name}
            yield {**call, "function": {**function, "arguments": fewer}}


def _with_message(case: Case, index: int, message: Message) -> Case:
    return replace(case, messages=(*case.messages[:index], message, *case.messages[index + 1 :]))


_WAYS = (
    _fewer_messages,
    _fewer_tools,
    _fewer_kwargs,
    _fewer_calls,
    _fewer_members,
    _shorter_texts,
    _shorter_arguments,
)

__all__ = ["Shrunk", "shrink"]
