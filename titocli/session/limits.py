"""How far a session may grow; everything is refused before the engine runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from titocli.errors import InvalidOption, SessionError, SessionLimit
from titocli.jsonvalue import JsonValue
from titocli.session.plan import Plan

#: Turns of one session.
MAX_TURNS = 1024


class ContextLengthExceeded(SessionError):
    """A prompt that, with the tokens it asks for, is longer than the model's context."""

    code = "context_length_exceeded"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLimits:
    """The limits of a session; None is no limit.

    ``max_turns`` counts committed turns of all branches, and ``max_tokens`` the ids that they store: what
    they appended and what they sampled.  Both count generations in flight too, each with the tokens that it
    asks for (one where it does not say).  ``max_context_tokens`` is the length of the model's context: a
    prompt and the tokens that it asks for must fit.
    """

    max_turns: int = MAX_TURNS
    max_tokens: int | None = None
    max_context_tokens: int | None = None

    def __post_init__(self) -> None:
        """Raise ``InvalidOption`` for a limit that nothing fits in."""
        for name in ("max_turns", "max_tokens", "max_context_tokens"):
            limit = getattr(self, name)
            if limit is not None and limit < 1:
                raise InvalidOption(f"{name} is {limit}", hint="a limit is 1 or more")

    def refuse_turn(self, turns: int, *, in_flight: int) -> None:
        """Raise ``SessionLimit`` where one more turn than those, and those in flight, is too many."""
        if turns + in_flight >= self.max_turns:
            raise SessionLimit(
                f"this session has reached its limit of {self.max_turns} turns",
                hint="start a new session",
                details={"max_turns": self.max_turns, "turns": turns, "in_flight": in_flight},
            )

    def refuse_tokens(self, plan: Plan, *, taken: int) -> None:
        """Raise ``SessionLimit`` where a plan's tokens do not fit beside those stored and in flight."""
        if self.max_tokens is not None and taken + new_tokens(plan) > self.max_tokens:
            raise SessionLimit(
                f"this session would hold more than its limit of {self.max_tokens} tokens",
                hint="start a new session",
                details={"max_tokens": self.max_tokens, "held_tokens": taken, "new_tokens": new_tokens(plan)},
            )

    def refuse_context(self, plan: Plan) -> None:
        """Raise ``ContextLengthExceeded`` where the prompt and what is asked for do not fit the context."""
        prompt, asked = len(plan.prompt_ids), asked_tokens(plan.arguments.options)
        if self.max_context_tokens is None or prompt + max(asked, 1) <= self.max_context_tokens:
            return
        wanted = f" and {asked} tokens to generate" if asked else ""
        raise ContextLengthExceeded(
            f"a prompt of {prompt} tokens{wanted} does not fit the context of {self.max_context_tokens}",
            hint="ask for fewer tokens, or shorten the conversation",
            details={
                "prompt_tokens": prompt,
                "max_tokens": asked or None,
                "max_context_tokens": self.max_context_tokens,
            },
        )


def new_tokens(plan: Plan) -> int:
    """The most ids that a plan adds to its session, as far as it says; at least one is sampled."""
    return len(plan.prompt_delta) + max(asked_tokens(plan.arguments.options), 1)


def asked_tokens(options: Mapping[str, JsonValue]) -> int:
    """How many tokens a turn may sample at most, 0 where it does not say."""
    for name in ("max_completion_tokens", "max_tokens"):
        asked = options.get(name)
        if isinstance(asked, int) and not isinstance(asked, bool):
            return asked
    return 0


__all__ = ["MAX_TURNS", "ContextLengthExceeded", "SessionLimits", "asked_tokens", "new_tokens"]
