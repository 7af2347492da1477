"""What every engine is to the rest of titocli."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

from titocli.session.generation import Completion, GenerateRequest, MessageDelta


class Engine(Protocol):
    """Whatever generates: SGLang over HTTP, the embedded CPU model, or a scripted replay.

    Engines raise only ``titocli.errors.EngineError`` and ``UsageError`` (an option that cannot be honoured).
    """

    @property
    def name(self) -> str:
        """The engine's kind, as ``--engine`` spells it."""
        ...

    @property
    def model(self) -> str:
        """The name of the served model."""
        ...

    @property
    def vocab_size(self) -> int:
        """Ids in ``[0, vocab_size)`` exist; 0 while it is not known."""
        ...

    @property
    def context_length(self) -> int | None:
        """Tokens of a prompt and its completion together, or None where the engine has or tells no limit."""
        ...

    async def start(self) -> None:
        """Make ready to generate (load a model, ask a server for its vocabulary size)."""
        ...

    async def generate(self, request: GenerateRequest) -> Completion:
        """Run one generation.  Cancelling the task cancels the generation."""
        ...

    def stream(self, request: GenerateRequest) -> AsyncGenerator[MessageDelta | Completion, None]:
        """Run one generation piece by piece; the ``Completion`` comes last.

        Its message is the pieces put together.  What ``generate`` raises is raised here, before the first
        piece or between two.  Closing the iterator, or cancelling the task that waits for a piece, cancels
        the generation.
        """
        ...

    async def aclose(self) -> None:
        """Give back what ``start`` took; safe to call twice."""
        ...


__all__ = ["Engine"]
