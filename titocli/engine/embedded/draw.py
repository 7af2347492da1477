"""Drawing one token (imports torch).

Logits plus Gumbel noise, in descending order, are a draw without replacement from their softmax; the first id
that the grammar accepts is therefore an exact draw from the distribution renormalised over what it accepts,
without testing the whole vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from titocli.engine.embedded.constraint import Constraint
from titocli.engine.embedded.sampling import Sampling
from titocli.engine.embedded.vocabulary import Vocabulary

_FEW = 32


class Drawer:
    """Draws ids by one request's sampling parameters and its own random generator."""

    def __init__(self, vocabulary: Vocabulary, sampling: Sampling) -> None:
        self._vocabulary = vocabulary
        self._sampling = sampling
        self._random = torch.Generator().manual_seed(sampling.seed)

    def log_probs(self, logits: torch.Tensor) -> torch.Tensor:
        """Log-softmax (float64) of logits / temperature over all of the model's vocabulary.

        At temperature 0 the logits are taken as they are; ``top_p`` and the grammar are not applied.
        """
        return torch.log_softmax(logits.double() / (self._sampling.temperature or 1.0), dim=-1)

    def draw(self, log_probs: torch.Tensor, constraint: Constraint | None) -> int | None:
        """One id, or None where the tokenizer has no token that the grammar accepts.

        ``top_p`` keeps the smallest set of likeliest ids with that mass; where the grammar accepts none of
        them, the draw is from all that it accepts.
        """
        scores = log_probs + self._noise(log_probs) if self._sampling.temperature else log_probs
        allowed = self._allowed(constraint)
        for mask in (allowed & self._nucleus(log_probs), allowed):
            for token_id in _descending(scores.masked_fill(~mask, float("-inf"))):
                if self._accepts(constraint, token_id):
                    return token_id
        return None

    def _allowed(self, constraint: Constraint | None) -> torch.Tensor:
        if constraint is None:
            return self._vocabulary.tokens
        continuing = self._vocabulary.starting_with(constraint.first)
        return continuing | self._vocabulary.end if constraint.may_end else continuing

    def _accepts(self, constraint: Constraint | None, token_id: int) -> bool:
        if constraint is None or token_id in self._vocabulary.stop_ids:
            return True
        return constraint.accepts(self._vocabulary.token_bytes(token_id))

    def _noise(self, like: torch.Tensor) -> torch.Tensor:
        exponential = torch.empty_like(like).exponential_(generator=self._random)
        return -exponential.log()

    def _nucleus(self, log_probs: torch.Tensor) -> torch.Tensor:
        if self._sampling.top_p >= 1.0:
            return torch.ones_like(log_probs, dtype=torch.bool)
        probs, order = log_probs.exp().sort(descending=True)
        inside = probs.cumsum(-1) - probs < self._sampling.top_p
        return torch.zeros_like(inside).scatter(0, order, inside)


def _descending(scores: torch.Tensor) -> Iterator[int]:
    few = min(_FEW, len(scores))
    yield from _finite(torch.topk(scores, few))
    if few < len(scores):
        yield from _finite(torch.sort(scores, descending=True, stable=True), start=few)


def _finite(ranked: tuple[torch.Tensor, torch.Tensor], start: int = 0) -> Iterator[int]:
    scores, ids = ranked
    for score, token_id in zip(scores[start:].tolist(), ids[start:].tolist(), strict=True):
        if score == float("-inf"):
            return
        yield token_id


__all__ = ["Drawer"]
