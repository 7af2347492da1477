"""One generation, token by token (imports torch)."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable, Sequence

import torch

from titocli.engine.embedded.constraint import Constraint
from titocli.engine.embedded.draw import Drawer
from titocli.engine.embedded.network import Network, Prefix
from titocli.engine.embedded.sampling import Sampling
from titocli.engine.embedded.vocabulary import Vocabulary
from titocli.engine.parsed import Sampled, top_log_prob
from titocli.errors import EngineAborted, EngineRefused
from titocli.jsonvalue import JsonValue
from titocli.session.generation import FinishReason
from titocli.tokens.ids import token_ids


class Decoding:
    """Reads a prompt and draws ids until a stop token, the length limit, or ``cancelled``."""

    def __init__(
        self,
        network: Network,
        vocabulary: Vocabulary,
        sampling: Sampling,
        *,
        constraint: Constraint | None,
        cancelled: threading.Event,
        hear: Callable[[int], None],
    ) -> None:
        self._network = network
        self._vocabulary = vocabulary
        self._sampling = sampling
        self._drawer = Drawer(vocabulary, sampling)
        self._constraint = constraint
        self._cancelled = cancelled
        self._hear = hear
        self._top: list[JsonValue] = []
        self._stop_ids = frozenset() if sampling.ignore_eos else vocabulary.stop_ids | sampling.stop_token_ids

    def run(self, prompt_ids: Sequence[int], prefix: Prefix) -> Sampled:
        """The sampled ids; the prefix has read all of them but the last.

        Raises ``EngineAborted`` when cancelled, the prefix then still being whole.
        """
        logits = self._read_prompt(prompt_ids, prefix)
        ids, log_probs = token_ids(), array("d")
        top = self._top
        while True:
            self._check_cancelled()
            drawn = self._draw(logits)
            if drawn is None:
                return Sampled(ids, log_probs, self._end_without_stop_token(ids), top_log_probs=tuple(top))
            token_id, log_prob = drawn
            ids.append(token_id)
            log_probs.append(log_prob)
            self._hear(token_id)
            if token_id in self._stop_ids:
                return Sampled(
                    ids, log_probs, FinishReason.STOP, matched_stop=token_id, top_log_probs=tuple(top)
                )
            if len(ids) == self._sampling.max_tokens:
                return Sampled(ids, log_probs, FinishReason.LENGTH, top_log_probs=tuple(top))
            logits = self._network.read([token_id], prefix)

    def _read_prompt(self, prompt_ids: Sequence[int], prefix: Prefix) -> torch.Tensor:
        logits = torch.empty(0)
        for piece in self._network.pieces(prompt_ids[len(prefix.ids) :]):
            self._check_cancelled()
            logits = self._network.read(piece, prefix)
        return logits

    def _draw(self, logits: torch.Tensor) -> tuple[int, float] | None:
        log_probs = self._drawer.log_probs(logits)
        token_id = self._drawer.draw(log_probs, self._constraint)
        if token_id is None:
            return None
        self._advance(token_id)
        if self._sampling.top_log_probs:
            self._top.append(self._likeliest(log_probs))
        return token_id, float(log_probs[token_id])

    def _likeliest(self, log_probs: torch.Tensor) -> JsonValue:
        values, ids = log_probs.topk(min(self._sampling.top_log_probs, len(log_probs)))
        return [
            top_log_prob(self._vocabulary.token_bytes(int(i)), float(v))
            for i, v in zip(ids, values, strict=True)
        ]

    def _advance(self, token_id: int) -> None:
        if self._constraint is None:
            return
        if token_id in self._vocabulary.stop_ids:
            self._constraint.end()
        else:
            self._constraint.advance(self._vocabulary.token_bytes(token_id))

    def _end_without_stop_token(self, ids: Sequence[int]) -> FinishReason:
        if ids and self._constraint is not None and self._constraint.may_end:
            return FinishReason.STOP
        raise _no_token()

    def _check_cancelled(self) -> None:
        if self._cancelled.is_set():
            raise EngineAborted("the generation was cancelled")


def _no_token() -> EngineRefused:
    return EngineRefused(
        "the tokenizer has no token that can continue or end this completion",
        hint="the embedded engine needs a byte-level tokenizer with the family's stop tokens",
    )


__all__ = ["Decoding"]
