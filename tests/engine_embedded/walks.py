"""Random members of a grammar."""

from __future__ import annotations

import random

from titocli.engine.embedded.constraint import Constraint
from titocli.engine.embedded.grammar import Expr


def random_member(grammar: Expr, random_source: random.Random, *, most: int = 5000) -> bytes:
    """One byte string of the grammar's language, walked through its automaton."""
    constraint, text = Constraint(grammar), bytearray()
    while constraint.first and not (constraint.may_end and random_source.random() < 0.2):
        byte = bytes((random_source.choice(sorted(constraint.first)),))
        assert constraint.accepts(byte)
        constraint.advance(byte)
        text += byte
        assert len(text) < most
    assert constraint.may_end
    return bytes(text)


def matches(grammar: Expr, text: bytes) -> bool:
    """Whether the whole text belongs to the grammar, by derivatives alone."""
    left = grammar
    for byte in text:
        left = left.derive(byte)
    return left.nullable
