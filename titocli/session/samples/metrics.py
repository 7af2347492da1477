"""What a session's turns cost, summed."""

from __future__ import annotations

from collections.abc import Iterable

from titocli.jsonvalue import JsonObject
from titocli.session.tree import Turn

#: SGLang's counters of speculative decoding that can be added up.
_SPECULATIVE = ("spec_num_correct_drafts", "spec_num_proposed_drafts", "spec_verify_ct")


def session_metrics(turns: Iterable[Turn]) -> JsonObject:
    """Sums over every committed turn, retries included.

    ``spec_info`` has the counters of speculative decoding that the engine gave; empty without.
    """
    every = list(turns)
    return {
        "turns": len(every),
        "prompt_tokens": sum(turn.prompt_length for turn in every),
        "cached_tokens": sum(turn.completion.cached_tokens or 0 for turn in every),
        "completion_tokens": sum(len(turn.completion.ids) for turn in every),
        "spec_info": _speculative(every),
    }


def _speculative(turns: list[Turn]) -> JsonObject:
    sums: dict[str, int | float] = {}
    for turn in turns:
        for name in _SPECULATIVE:
            value = turn.completion.metadata.get(name)
            if isinstance(value, int | float):
                sums[name] = sums.get(name, 0) + value
    return sums


__all__ = ["session_metrics"]
