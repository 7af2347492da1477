"""Derivatives against Python's ``re`` on a small alphabet, and their laws."""

from __future__ import annotations

import itertools
import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine_embedded.walks import matches, random_member
from titocli.engine.embedded.automaton import START, Automaton
from titocli.engine.embedded.grammar import (
    ANY_BYTE,
    EMPTY,
    NEVER,
    Expr,
    Until,
    choice,
    literal,
    one_of,
    optional,
    repeat,
    sequence,
)

ALPHABET = "ab"
WORDS = ["".join(word) for n in range(6) for word in itertools.product(ALPHABET, repeat=n)]

# An expression of ours with the same language as a pattern of ``re``.
Both = tuple[Expr, str]


def _leaf() -> st.SearchStrategy[Both]:
    texts = st.text(ALPHABET, max_size=3).map(lambda text: (literal(text), text))
    classes = st.sets(st.sampled_from(ALPHABET), min_size=1).map(
        lambda chars: (one_of("".join(chars)), f"[{''.join(sorted(chars))}]")
    )
    return texts | classes


def _grown(inner: st.SearchStrategy[Both]) -> st.SearchStrategy[Both]:
    pairs = st.lists(inner, min_size=2, max_size=3)
    sequences = pairs.map(lambda ps: (sequence(*(e for e, _ in ps)), "".join(f"(?:{p})" for _, p in ps)))
    choices = pairs.map(lambda ps: (choice(*(e for e, _ in ps)), "|".join(f"(?:{p})" for _, p in ps)))
    bounds = st.tuples(st.integers(0, 2), st.none() | st.integers(2, 3))
    repeats = st.tuples(inner, bounds).map(
        lambda t: (repeat(t[0][0], *t[1]), f"(?:{t[0][1]}){{{t[1][0]},{'' if t[1][1] is None else t[1][1]}}}")
    )
    return sequences | choices | repeats


EXPRESSIONS = st.recursive(_leaf(), _grown, max_leaves=6)


@settings(deadline=None)
@given(EXPRESSIONS)
def test_the_language_is_that_of_the_same_regular_expression(both: Both) -> None:
    expr, pattern = both
    compiled = re.compile(pattern)
    for word in WORDS:
        assert matches(expr, word.encode()) == bool(compiled.fullmatch(word)), (pattern, word)


@settings(deadline=None)
@given(EXPRESSIONS)
def test_first_is_exactly_the_bytes_with_a_derivative(both: Both) -> None:
    expr, _ = both
    assert expr.first == {byte for byte in ANY_BYTE if expr.derive(byte) != NEVER}


@settings(deadline=None)
@given(EXPRESSIONS)
def test_every_state_that_is_reached_can_still_end(both: Both) -> None:
    """``NEVER`` is the only expression of the empty language: what is accepted is never a dead end."""
    expr, _ = both
    live = {expr} - {NEVER}
    for _ in range(3):
        for state in live:
            assert any(matches(state, word.encode()) for word in WORDS) or state.first
        live = {state.derive(byte) for state in live for byte in state.first}
        assert NEVER not in live


@settings(deadline=None)
@given(EXPRESSIONS, st.randoms(use_true_random=False))
def test_a_walk_ends_inside_the_language(both: Both, random: Random) -> None:
    expr, pattern = both
    member = random_member(expr, random)
    assert re.fullmatch(pattern, member.decode())


@settings(deadline=None)
@given(EXPRESSIONS, st.text(ALPHABET, max_size=6))
def test_the_automaton_walks_as_derivatives_do(both: Both, word: str) -> None:
    expr, _ = both
    automaton = Automaton(expr)
    state = automaton.walk(START, word.encode())
    assert (state is not None and automaton.may_end(state)) == matches(expr, word.encode())
    assert automaton.walk(START, word.encode()) == state


@settings(deadline=None)
@given(st.text("ab<", min_size=1, max_size=4), st.text("ab<", max_size=12))
def test_until_ends_at_the_first_occurrence_of_its_marker(marker: str, text: str) -> None:
    first_end = text.find(marker) + len(marker) if marker in text else None
    assert matches(Until(marker.encode()), text.encode()) == (first_end == len(text))


def test_the_empty_language_and_the_empty_text_are_units() -> None:
    a = literal("a")
    assert sequence(a, NEVER) == NEVER
    assert sequence(EMPTY, a, EMPTY) == a
    assert choice(a, NEVER) == a == choice(a, a)
    assert choice() == NEVER == one_of("")
    assert repeat(NEVER, 0, 3) == EMPTY
    assert repeat(NEVER, 1, 3) == NEVER
    assert repeat(a, 0, 0) == EMPTY


def test_choices_are_the_same_in_any_order_and_nesting() -> None:
    a, b, c = literal("a"), literal("b"), literal("c")
    assert choice(a, choice(b, c)) == choice(choice(c, b), a)
    assert hash(choice(a, choice(b, c))) == hash(choice(choice(c, b), a))
    assert optional(optional(a)) == optional(a)


def test_a_long_bounded_repeat_stays_small() -> None:
    """A derivative of a counted repeat counts down, it does not copy the item."""
    expr: Expr = sequence(repeat(one_of("abc "), 0, 200), literal("."))
    for byte in b"a" * 100:
        expr = expr.derive(byte)
    assert expr == sequence(repeat(one_of("abc "), 0, 100), literal("."))


def test_literals_outside_ascii_are_utf8() -> None:
    assert matches(literal("é"), "é".encode())
    with pytest.raises(UnicodeEncodeError):
        one_of("é")
