"""Exchanges recorded from a real SGLang 0.5.23 (CPU, tiny Qwen3): one JSON object a line of recorded.jsonl.

The per-token ``logprobs.content``, which titocli does not read, was taken out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Recorded:
    name: str
    request: Any
    status: int
    response: Any

    @property
    def prompt_length(self) -> int:
        return int(self.response["choices"][0]["meta_info"]["prompt_tokens"])


def recorded(name: str) -> Recorded:
    """A fresh copy of the exchange of that name."""
    lines = (Path(__file__).parent / "recorded.jsonl").read_text().splitlines()
    return next(Recorded(**line) for line in map(json.loads, lines) if line["name"] == name)


__all__ = ["Recorded", "recorded"]
