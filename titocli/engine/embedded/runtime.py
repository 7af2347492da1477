"""What the embedded engine holds once it is started (imports torch)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from titocli.engine.embedded.constraint import Constraint
from titocli.engine.embedded.decoding import Decoding
from titocli.engine.embedded.network import Network, Prefixes, checkpoint_network, tiny_network
from titocli.engine.embedded.sampling import Sampling
from titocli.engine.embedded.vocabulary import Vocabulary
from titocli.engine.parsed import Sampled
from titocli.errors import EngineAborted
from titocli.families.family import Family
from titocli.session.generation import GenerateRequest
from titocli.tokens.tokenizer import Tokenizer


class Runtime:
    """A loaded model with the prefixes of its sessions; one thread uses it."""

    def __init__(self, network: Network, vocabulary: Vocabulary) -> None:
        self._network = network
        self._vocabulary = vocabulary
        self._prefixes = Prefixes()

    @classmethod
    def load(cls, family: Family, tokenizer: Tokenizer, *, model_dir: Path | None, seed: int) -> Runtime:
        """The checkpoint of ``model_dir``, or the tiny model for the tokenizer's vocabulary."""
        if model_dir is None:
            network = tiny_network(tokenizer.vocab_size, seed=seed)
        else:
            network = checkpoint_network(model_dir)
        stop_ids = _stop_ids(family, tokenizer) or network.eos_ids
        return cls(network, Vocabulary(tokenizer, size=network.vocab_size, stop_ids=stop_ids))

    @property
    def vocab_size(self) -> int:
        """The number of ids that the model has."""
        return self._network.vocab_size

    def generate(
        self,
        request: GenerateRequest,
        sampling: Sampling,
        constraint: Constraint | None,
        cancelled: threading.Event,
        hear: Callable[[int], None],
    ) -> tuple[Sampled, int]:
        """The sampled ids, and how many prompt ids were taken from the session's last turn.

        ``hear`` gets each id as it is drawn.
        """
        decoding = Decoding(
            self._network, self._vocabulary, sampling, constraint=constraint, cancelled=cancelled, hear=hear
        )
        prefix = self._prefixes.take(request.session_id, request.prompt_ids)
        cached_tokens = len(prefix.ids)
        try:
            sampled = decoding.run(request.prompt_ids, prefix)
        except EngineAborted:
            self._prefixes.put(request.session_id, prefix)
            raise
        self._prefixes.put(request.session_id, prefix)
        return sampled, cached_tokens


def _stop_ids(family: Family, tokenizer: Tokenizer) -> tuple[int, ...]:
    found = (tokenizer.token_id(token) for token in family.stop_tokens)
    return tuple(token_id for token_id in found if token_id is not None)


__all__ = ["Runtime"]
