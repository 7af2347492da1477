"""A conversation's states, rendered: each text is made once, whichever checks ask for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from titocli.families.family import Role
from titocli.families.kwargs import resolve_kwargs, with_reasoning_effort
from titocli.families.messages import normalise_messages, normalise_tools
from titocli.families.renderer import Renderer, Suffix
from titocli.jsonvalue import JsonValue, Message, Tool
from titocli.verify.contract import Contract
from titocli.verify.events import Case


class By(StrEnum):
    """Whose render: the target's, the target's on another day, or that of the template to compare with."""

    TARGET = "target"
    LATER = "later"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Shown:
    """Which render of a conversation: its first ``end`` messages, and with what.

    ``changed`` are kwargs that take the place of the case's own.
    """

    end: int
    generation_prompt: bool = False
    by: By = By.TARGET
    changed: tuple[tuple[str, JsonValue], ...] = ()


@dataclass(frozen=True)
class States:
    """One case under one contract.

    Raises what its messages and kwargs can be refused for (``InvalidMessages``, ``ConflictingKwarg``, ...)
    when they are first needed.
    """

    contract: Contract
    case: Case
    _texts: dict[Shown, str] = field(default_factory=dict)

    @cached_property
    def messages(self) -> Sequence[Message]:
        """The messages as the template gets them."""
        return normalise_messages(self.contract.family, self.case.messages)

    @cached_property
    def tools(self) -> Sequence[Tool]:
        """The tools as the template gets them."""
        return normalise_tools(self.case.tools)

    @cached_property
    def kwargs(self) -> Mapping[str, JsonValue]:
        """The kwargs, resolved under the contract."""
        family = self.contract.family
        layers = (self.case.kwargs, self.contract.kwargs)
        return resolve_kwargs(family, *(with_reasoning_effort(family, layer, None) for layer in layers))

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """The roles of the messages."""
        return tuple(str(message["role"]) for message in self.messages)

    def renderer(self, by: By) -> Renderer:
        """Who renders."""
        return {By.TARGET: self.contract.renderer, By.LATER: self.contract.later}.get(by) or (
            self.contract.other or self.contract.renderer
        )

    def text(self, end: int, *, generation_prompt: bool = False) -> str:
        """The target's text of the first ``end`` messages."""
        return self.shown(Shown(end, generation_prompt))

    def shown(self, shown: Shown) -> str:
        """The text of a render."""
        known = self._texts.get(shown)
        if known is None:
            known = self._texts[shown] = self.rendered_by(self.renderer(shown.by), shown)
        return known

    def rendered_by(self, renderer: Renderer, shown: Shown) -> str:
        """The text of a render, by a renderer that may watch it."""
        return renderer.text(
            self.messages[: shown.end],
            tools=self.tools,
            kwargs={**self.kwargs, **dict(shown.changed)} if shown.changed else self.kwargs,
            generation_prompt=shown.generation_prompt,
        )

    def suffix(self, renderer: Renderer, turn_end: int, state_end: int) -> Suffix:
        """What a session would append to its first ``turn_end`` messages."""
        return renderer.suffix(
            self.messages[turn_end:state_end],
            history=self.messages[:turn_end],
            tools=self.tools,
            kwargs=self.kwargs,
        )

    @property
    def turn_ends(self) -> list[int]:
        """After which messages an assistant's turn has ended."""
        return [end for end, role in enumerate(self.roles, 1) if role == Role.ASSISTANT]

    def is_settled(self, end: int) -> bool:
        """Whether a state may end there: not inside a run of tool results, not before the first question."""
        in_run = self.roles[end - 1 : end + 1] == ("tool", "tool")
        return not in_run and any(role != Role.SYSTEM for role in self.roles[:end])

    def states_after(self, end: int) -> Iterator[int]:
        """Ends of the later states that a session may reach: appendable roles, whole runs of tool results.

        What follows a question or a result is an answer, whatever may be appended to answers.
        """
        allowed = {*self.contract.family.append_roles}
        if self.roles[end - 1] != Role.ASSISTANT:
            allowed.add(Role.ASSISTANT)
        for later in range(end + 1, len(self.roles) + 1):
            if self.roles[later - 1] not in allowed:
                return
            if self.is_settled(later):
                yield later


__all__ = ["By", "Shown", "States"]
