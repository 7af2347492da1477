"""A grammar as an automaton that is built while it is walked.

Each distinct derivative is one state, so an expression is derived by a byte only once.
"""

from __future__ import annotations

from titocli.engine.embedded.grammar import NEVER, Expr

START = 0


class Automaton:
    """The states reached so far; a state is a number, None is where no continuation exists."""

    def __init__(self, grammar: Expr) -> None:
        self._exprs = [grammar]
        self._numbers = {grammar: START}
        self._steps: dict[tuple[int, int], int | None] = {}

    def step(self, state: int, byte: int) -> int | None:
        """The state after one byte."""
        key = (state, byte)
        if key not in self._steps:
            self._steps[key] = self._number(self._exprs[state].derive(byte))
        return self._steps[key]

    def walk(self, state: int, data: bytes) -> int | None:
        """The state after all of ``data``."""
        now: int | None = state
        for byte in data:
            if now is None:
                return None
            now = self.step(now, byte)
        return now

    def may_end(self, state: int) -> bool:
        """Whether the text so far is complete."""
        return self._exprs[state].nullable

    def first(self, state: int) -> frozenset[int]:
        """The bytes that can come next."""
        return self._exprs[state].first

    def _number(self, expr: Expr) -> int | None:
        if expr == NEVER:
            return None
        number = self._numbers.setdefault(expr, len(self._exprs))
        if number == len(self._exprs):
            self._exprs.append(expr)
        return number


__all__ = ["START", "Automaton"]
