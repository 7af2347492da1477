"""What every engine is to the rest of titocli."""

from __future__ import annotations

from typing import Protocol

from titocli.session.generation import Completion, GenerateRequest


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

    async def start(self) -> None:
        """Make ready to generate (load a model, ask a server for its vocabulary size)."""
        ...

    async def generate(self, request: GenerateRequest) -> Completion:
        """Run one generation.  Cancelling the task cancels the generation."""
        ...

    async def aclose(self) -> None:
        """Give back what ``start`` took; safe to call twice."""
        ...


__all__ = ["Engine"]
