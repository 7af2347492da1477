"""A grammar followed through one generation."""

from __future__ import annotations

from titocli.engine.embedded.automaton import START, Automaton
from titocli.engine.embedded.grammar import EMPTY, Expr


class Constraint:
    """Where the text generated so far stands in a grammar."""

    def __init__(self, grammar: Expr) -> None:
        self._automaton = Automaton(grammar)
        self._state = START

    @property
    def first(self) -> frozenset[int]:
        """The bytes that can come next; empty when the text can only end."""
        return self._automaton.first(self._state)

    @property
    def may_end(self) -> bool:
        """Whether the text so far is complete."""
        return self._automaton.may_end(self._state)

    def accepts(self, data: bytes) -> bool:
        """Whether ``data`` can come next."""
        return self._automaton.walk(self._state, data) is not None

    def advance(self, data: bytes) -> None:
        """Go on after ``data``, which must have been accepted."""
        state = self._automaton.walk(self._state, data)
        if state is None:
            raise AssertionError("advanced over bytes that the grammar does not accept")
        self._state = state

    def end(self) -> None:
        """Accept nothing more; a generation that ignores stop tokens can then only repeat them."""
        self._automaton, self._state = Automaton(EMPTY), START


__all__ = ["Constraint"]
