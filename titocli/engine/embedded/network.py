"""The transformer: transformers' own Qwen3 with its key-value cache (imports torch and transformers)."""

from __future__ import annotations

import inspect
import json
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import DynamicCache, Qwen3Config, Qwen3ForCausalLM

from titocli.errors import ConflictingOption, UnreadableFile

_CACHED_SESSIONS = 8
_VOCABULARY_MULTIPLE = 64
# Prompts are read in pieces, so that a cancelled generation ends soon.
_PIECE_TOKENS = 512


class Prefix:
    """Ids that the network has read, and their keys and values."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.past: Any = DynamicCache()

    def crop(self, keep: int) -> None:
        """Forget all but the first ``keep`` ids."""
        if keep < len(self.ids):
            self.past.crop(keep - len(self.ids))
            del self.ids[keep:]


class Prefixes:
    """The prefixes of the sessions used last; one thread uses it."""

    def __init__(self) -> None:
        self._by_session: OrderedDict[str, Prefix] = OrderedDict()

    def take(self, session_id: str, prompt_ids: Sequence[int]) -> Prefix:
        """The session's prefix, cropped to what it shares with the prompt, the last prompt id left out."""
        prefix = self._by_session.pop(session_id, None) or Prefix()
        prefix.crop(min(_shared(prefix.ids, prompt_ids), len(prompt_ids) - 1))
        return prefix

    def put(self, session_id: str, prefix: Prefix) -> None:
        """Keep the prefix for the session's next turn; the session unused the longest is forgotten."""
        self._by_session[session_id] = prefix
        if len(self._by_session) > _CACHED_SESSIONS:
            self._by_session.popitem(last=False)


def _shared(left: Sequence[int], right: Sequence[int]) -> int:
    pairs = enumerate(zip(left, right, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(left), len(right)))


class Network:
    """A Qwen3 model on CPU; ``vocab_size`` is the number of its logits."""

    def __init__(self, model: Any) -> None:
        self._model = model.eval()
        # transformers 5.24 renamed the parameter and warns about the old name.
        known = inspect.signature(Qwen3ForCausalLM.forward).parameters
        self._cache_name = "cache" if "cache" in known else "past_key_values"
        self.vocab_size: int = model.config.vocab_size

    @property
    def eos_ids(self) -> tuple[int, ...]:
        """The end-of-text ids of the model's own configuration."""
        eos = self._model.config.eos_token_id
        return () if eos is None else tuple(eos) if isinstance(eos, list) else (eos,)

    def pieces(self, ids: Sequence[int]) -> list[Sequence[int]]:
        """The ids in pieces of a bounded length, for ``read``."""
        return [ids[start : start + _PIECE_TOKENS] for start in range(0, len(ids), _PIECE_TOKENS)]

    def read(self, ids: Sequence[int], prefix: Prefix) -> torch.Tensor:
        """The logits (``vocab_size``) after the prefix and ``ids``; the prefix grows by them."""
        with torch.inference_mode():
            cache = {self._cache_name: prefix.past}
            answer = self._model(torch.tensor([list(ids)]), use_cache=True, logits_to_keep=1, **cache)
        prefix.ids.extend(ids)
        logits: torch.Tensor = answer.logits[0, -1]
        return logits


def tiny_network(tokenizer_size: int, *, seed: int) -> Network:
    """A two-layer model with random weights, the same ones for the same seed."""
    config = Qwen3Config(
        vocab_size=-(-tokenizer_size // _VOCABULARY_MULTIPLE) * _VOCABULARY_MULTIPLE,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        # Five times the default: logits that differ, so that positions and history matter.
        initializer_range=0.1,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=None,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Network(Qwen3ForCausalLM(config).to(torch.float32))


def checkpoint_network(directory: Path) -> Network:
    """The Qwen3 checkpoint of a directory (``config.json`` and safetensors), in float32."""
    _require_qwen3(directory)
    model = Qwen3ForCausalLM.from_pretrained(directory, local_files_only=True, dtype=torch.float32)
    return Network(model)


def _require_qwen3(directory: Path) -> None:
    try:
        config = json.loads((directory / "config.json").read_text())
        kind = config.get("model_type")
    except (OSError, ValueError, AttributeError):
        raise UnreadableFile(
            "the model directory has no readable config.json",
            hint="give a local checkpoint: config.json, *.safetensors and tokenizer.json",
            details={"path": str(directory)},
        ) from None
    if kind != "qwen3":
        raise ConflictingOption(
            f"the embedded engine runs Qwen3 models, not {kind!r}",
            hint="serve this checkpoint with SGLang and give --engine-url",
            details={"path": str(directory), "model_type": str(kind)},
        )


__all__ = ["Network", "Prefix", "Prefixes", "checkpoint_network", "tiny_network"]
