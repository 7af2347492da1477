"""The append-only property: what was rendered for a turn is never rewritten by what is appended to it.

Two things are checked for every assistant turn of a conversation:

* its text is the beginning of the text of every later state of the conversation;
* the suffix that a session would render for the messages after it is exactly what the whole render adds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from titocli.errors import HistoryRewritten
from titocli.families.kwargs import resolve_kwargs
from titocli.families.messages import normalise_messages, normalise_tools
from titocli.families.renderer import Renderer
from titocli.jsonvalue import JsonValue, Message, Tool
from titocli.verify.conversations import Conversation

#: Characters shown on each side of a difference.
_SHOWN = 40


class Violation(StrEnum):
    """Which half of the property fails."""

    #: Appending changes text that an earlier turn was rendered to.
    PREFIX_REWRITTEN = "prefix_rewritten"
    #: The suffix of an append is not what the whole render adds.
    SUFFIX_DIFFERS = "suffix_differs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterexample:
    """A conversation that breaks the property after its first ``turn_end`` messages.

    ``state_end`` messages were there when it showed; ``at`` is the first differing character of the whole
    text, ``expected`` and ``actual`` are excerpts around it.
    """

    conversation: Conversation
    violation: Violation
    turn_end: int
    state_end: int
    at: int
    expected: str
    actual: str


@dataclass(frozen=True, slots=True)
class _Renders:
    """One conversation's states, rendered."""

    conversation: Conversation
    renderer: Renderer
    messages: Sequence[Message]
    tools: Sequence[Tool]
    kwargs: Mapping[str, JsonValue]

    _known: dict[tuple[int, bool], str] = field(default_factory=dict)

    def text(self, end: int, *, generation_prompt: bool = False) -> str:
        """The text of the first ``end`` messages; each state is rendered once."""
        known = self._known.get((end, generation_prompt))
        if known is None:
            known = self._known[end, generation_prompt] = self._render(end, generation_prompt)
        return known

    def _render(self, end: int, generation_prompt: bool) -> str:
        messages = self.messages[:end]
        return self.renderer.text(
            messages, tools=self.tools, kwargs=self.kwargs, generation_prompt=generation_prompt
        )

    def suffix(self, turn_end: int, state_end: int) -> str:
        appended = self.messages[turn_end:state_end]
        history = self.messages[:turn_end]
        suffix = self.renderer.suffix(appended, history=history, tools=self.tools, kwargs=self.kwargs)
        return suffix.text

    def states_after(self, turn_end: int) -> Iterator[int]:
        """Ends of the later states that a session may reach: appendable roles, whole runs of tool results."""
        roles = [str(message["role"]) for message in self.messages]
        for end in range(turn_end + 1, len(roles) + 1):
            if roles[end - 1] not in self.renderer.family.append_roles:
                return
            if roles[end - 1 : end + 1] != ["tool", "tool"]:
                yield end


def find_counterexample(renderer: Renderer, conversation: Conversation) -> Counterexample | None:
    """The first place where the conversation breaks the property, or None.

    Raises what the template or its messages raise (``TemplateRaised``, ``InvalidMessages``, ...).
    """
    renders = _Renders(
        conversation,
        renderer,
        normalise_messages(renderer.family, conversation.messages),
        normalise_tools(conversation.tools),
        resolve_kwargs(renderer.family, conversation.kwargs),
    )
    turn_ends = [end for end, message in enumerate(renders.messages, 1) if message["role"] == "assistant"]
    found = (_rewritten(renders, turn_end) for turn_end in turn_ends)
    differing = (_differing_suffix(renders, turn_end) for turn_end in turn_ends)
    return next(filter(None, found), None) or next(filter(None, differing), None)


def _rewritten(renders: _Renders, turn_end: int) -> Counterexample | None:
    prefix = renders.text(turn_end)
    for state_end in renders.states_after(turn_end):
        text = renders.text(state_end)
        if not text.startswith(prefix):
            return _counterexample(renders, Violation.PREFIX_REWRITTEN, turn_end, state_end, prefix, text)
    return None


def _differing_suffix(renders: _Renders, turn_end: int) -> Counterexample | None:
    """Looks at the next state and at the last one: the shortest and the longest append."""
    states = list(renders.states_after(turn_end))
    for state_end in sorted({*states[:1], *states[-1:]}):
        expected = renders.text(state_end, generation_prompt=True)
        actual = renders.text(turn_end) + _suffix_or_nothing(renders, turn_end, state_end)
        if actual != expected:
            return _counterexample(renders, Violation.SUFFIX_DIFFERS, turn_end, state_end, expected, actual)
    return None


def _suffix_or_nothing(renders: _Renders, turn_end: int, state_end: int) -> str:
    try:
        return renders.suffix(turn_end, state_end)
    except HistoryRewritten:
        return ""


def _counterexample(
    renders: _Renders, violation: Violation, turn_end: int, state_end: int, expected: str, actual: str
) -> Counterexample:
    at = first_difference(expected, actual)
    shown = slice(max(0, at - _SHOWN), at + _SHOWN)
    return Counterexample(
        conversation=renders.conversation,
        violation=violation,
        turn_end=turn_end,
        state_end=state_end,
        at=at,
        expected=expected[shown],
        actual=actual[shown],
    )


def first_difference(left: str, right: str) -> int:
    """Index of the first character that differs; the shorter length where one continues the other."""
    for index, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return index
    return min(len(left), len(right))


__all__ = ["Counterexample", "Violation", "find_counterexample", "first_difference"]
