"""Draws come from the renormalised distribution over what the grammar accepts."""

from __future__ import annotations

import math
from collections import Counter

import pytest
import torch

from titocli.engine.embedded.constraint import Constraint
from titocli.engine.embedded.draw import Drawer
from titocli.engine.embedded.grammar import EMPTY, Expr, choice, literal
from titocli.engine.embedded.sampling import Sampling
from titocli.engine.embedded.vocabulary import Vocabulary
from titocli.tokens.byte_level import byte_level_tokenizer

TOKENS = ["<|end|>", "<|other|>", "<tag>"]
TOKENIZER = byte_level_tokenizer(TOKENS, special=TOKENS[:2])
END, OTHER, TAG = range(256, 259)
SIZE = 320
DRAWS = 4000


def _drawer(
    *,
    temperature: float = 1.0,
    top_p: float = 1.0,
    seed: int = 0,
    stop_ids: tuple[int, ...] = (END, OTHER),
) -> Drawer:
    sampling = Sampling(
        temperature=temperature,
        top_p=top_p,
        max_tokens=1,
        seed=seed,
        stop_token_ids=frozenset(),
        ignore_eos=False,
    )
    return Drawer(Vocabulary(TOKENIZER, size=SIZE, stop_ids=stop_ids), sampling)


def _logits() -> torch.Tensor:
    return torch.randn(SIZE, generator=torch.Generator().manual_seed(1)) * 2


def _frequencies(drawer: Drawer, logits: torch.Tensor, grammar: Expr | None) -> dict[int, float]:
    constraint = None if grammar is None else Constraint(grammar)
    log_probs = drawer.log_probs(logits)
    counts = Counter(drawer.draw(log_probs, constraint) for _ in range(DRAWS))
    return {token_id: count / DRAWS for token_id, count in counts.items() if token_id is not None}


def _assert_close(found: dict[int, float], weights: dict[int, float]) -> None:
    total = sum(weights.values())
    assert set(found) <= set(weights)
    for token_id, weight in weights.items():
        share = weight / total
        assert abs(found.get(token_id, 0.0) - share) < 5 * math.sqrt(share / DRAWS) + 1 / DRAWS


@pytest.mark.parametrize("temperature", [0.7, 1.0, 1.5])
def test_a_constrained_draw_is_the_softmax_renormalised_over_what_is_accepted(temperature: float) -> None:
    logits = _logits()
    accepted = [*b"abc", TAG, ord("<"), END]
    grammar = choice(literal("abc"), literal("b"), literal("c!"), literal("<tag>"), EMPTY)
    found = _frequencies(_drawer(temperature=temperature), logits, grammar)
    _assert_close(found, {i: math.exp(logits[i] / temperature) for i in accepted})


def test_an_unconstrained_draw_is_the_softmax_over_tokens_that_exist() -> None:
    logits = _logits()
    logits[300] = 50.0  # a row without a token
    weights = {i: math.exp(logits[i]) for i in range(259)}
    _assert_close(_frequencies(_drawer(), logits, None), weights)


def test_top_p_keeps_the_smallest_likeliest_set() -> None:
    logits = torch.full((SIZE,), -100.0)
    logits[[97, 98, 99]] = torch.log(torch.tensor([0.5, 0.3, 0.2]))
    assert set(_frequencies(_drawer(top_p=0.5), logits, None)) == {97}
    found = _frequencies(_drawer(top_p=0.6), logits, None)
    _assert_close(found, {97: 0.5, 98: 0.3})


def test_top_p_yields_where_the_grammar_accepts_nothing_of_it() -> None:
    logits = torch.full((SIZE,), -5.0)
    logits[97] = 10.0
    assert set(_frequencies(_drawer(top_p=0.5), logits, literal("z"))) == {ord("z")}


def test_temperature_zero_takes_the_likeliest_accepted_id() -> None:
    logits = _logits()
    drawer = _drawer(temperature=0.0)
    log_probs = drawer.log_probs(logits)
    best = max(range(ord("a"), ord("z") + 1), key=lambda i: logits[i])
    letters = choice(*(literal(chr(i)) for i in range(ord("a"), ord("z") + 1)))
    assert drawer.draw(log_probs, Constraint(letters)) == best
    assert torch.allclose(log_probs, torch.log_softmax(logits.double(), -1))


def test_log_probs_are_over_all_rows_and_scaled_by_temperature() -> None:
    logits = _logits()
    expected = torch.log_softmax(logits.double() / 0.5, -1)
    assert torch.equal(_drawer(temperature=0.5).log_probs(logits), expected)


def test_control_tokens_are_never_text_and_only_the_first_stop_token_ends_it() -> None:
    logits = torch.zeros(SIZE)
    logits[[END, OTHER]] = 50.0
    for stop_ids in ((END, OTHER), (END,)):
        drawer = _drawer(stop_ids=stop_ids)
        assert set(_frequencies(drawer, logits, literal("<|other|>"))) == {ord("<")}
    assert set(_frequencies(_drawer(), logits, EMPTY)) == {END}


def test_nothing_is_drawn_where_the_tokenizer_has_no_way_on() -> None:
    drawer = _drawer(stop_ids=())
    assert drawer.draw(drawer.log_probs(_logits()), Constraint(EMPTY)) is None


def test_the_same_seed_draws_the_same_ids() -> None:
    log_probs = _drawer().log_probs(_logits())

    def drawn(seed: int) -> list[int | None]:
        drawer = _drawer(seed=seed)
        return [drawer.draw(log_probs, None) for _ in range(20)]

    assert drawn(1) == drawn(1) != drawn(2)
