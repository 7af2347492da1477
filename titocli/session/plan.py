"""A turn that may be generated."""

from __future__ import annotations

from dataclasses import dataclass

from titocli.jsonvalue import Message
from titocli.session.arguments import TurnArguments
from titocli.session.generation import GenerateRequest, ReplayRequest
from titocli.tokens.ids import TokenIds


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What planning a turn cost, counted: the same on every machine."""

    template_renders: int
    encoded_bytes: int
    copied_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """A turn that may be generated: where it attaches, its arguments, its exact prompt ids.

    ``messages`` is the whole conversation in its stored spelling, ``appended`` the part that is new.
    ``head`` is the session's head when the plan was made.  ``replay`` is the replay data to ask the engine
    for.  Two plans are equal only when they are one.
    """

    parent: int | None
    head: int | None
    messages: tuple[Message, ...]
    appended: tuple[Message, ...]
    arguments: TurnArguments
    trim: int
    prompt_delta: TokenIds
    prompt_ids: TokenIds
    generation_prompt: str
    work: Work
    replay: ReplayRequest | None = None

    def request(self, *, request_id: str, session_id: str) -> GenerateRequest:
        """What to ask the engine for."""
        return GenerateRequest(
            request_id=request_id,
            session_id=session_id,
            prompt_ids=self.prompt_ids,
            generation_prompt=self.generation_prompt,
            messages=self.messages,
            tools=self.arguments.tools,
            template_kwargs=self.arguments.template_kwargs,
            options=self.arguments.options,
            replay=self.replay,
        )


__all__ = ["Plan", "Work"]
