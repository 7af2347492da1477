"""The default postprocessor: each completion trains once; the agent's metadata and reward are added.

A postprocessor takes the picked samples, the session's metadata and the agent's, and returns each of these
samples in the same order, with what it wants changed (``dataclasses.replace``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TypeAlias

from titocli.jsonvalue import JsonObject, JsonValue
from titocli.session.samples.sample import Sample

Postprocessor: TypeAlias = "Callable[[Sequence[Sample], JsonObject, JsonObject], Sequence[Sample]]"

#: Metadata that the server writes; an agent's keys of these names are ignored.
SERVER_OWNED = frozenset(
    {
        "accumulated_token_ids",
        "leaf",
        "lifecycle",
        "non_positive_advantage_spans",
        "tito_session_mismatch",
        "turns",
    }
)
#: The agent's key for completions that must not be encouraged, whatever the reward: their response ids.
NON_POSITIVE = "non_positive_advantage_response_ids"


def default_postprocess(
    samples: Sequence[Sample],
    session_metadata: JsonObject,  # noqa: ARG001 - the contract of every postprocessor
    agent_metadata: JsonObject,
) -> list[Sample]:
    """Train each completion once, merge the agent's metadata, give every sample the agent's reward.

    Raises ``ValueError`` for ``non_positive_advantage_response_ids`` that are no list of texts.
    """
    owners = _owners(samples)
    added = {key: value for key, value in agent_metadata.items() if key not in SERVER_OWNED}
    reward = _reward(agent_metadata)
    named = _named(agent_metadata)
    return [
        replace(
            sample,
            loss_mask=_owned_mask(sample, owners),
            metadata={**sample.metadata, **added, **_non_positive(sample, named)},
            reward=sample.reward if reward is None else reward,
        )
        for sample in samples
    ]


def _owners(samples: Sequence[Sample]) -> dict[int, int]:
    """The leaf in which each turn trains: of the samples that hold it the one committed first."""
    owners: dict[int, int] = {}
    for sample in sorted(samples, key=lambda sample: sample.leaf):
        for turn in sample.turns:
            owners.setdefault(turn.node_id, sample.leaf)
    return owners


def _owned_mask(sample: Sample, owners: Mapping[int, int]) -> bytes:
    mask = bytearray(sample.loss_mask)
    for turn in sample.turns:
        if owners[turn.node_id] != sample.leaf:
            start, end = (max(0, at - sample.first_prompt_length) for at in (turn.start, turn.end))
            mask[start:end] = bytes(end - start)
    return bytes(mask)


def _named(agent_metadata: JsonObject) -> list[JsonValue] | None:
    """The response ids of completions that must not be encouraged; None where the agent says nothing."""
    if NON_POSITIVE not in agent_metadata:
        return None
    named = agent_metadata[NON_POSITIVE]
    if not isinstance(named, list) or not all(isinstance(one, str) for one in named):
        raise ValueError(f"{NON_POSITIVE} must be a list of response ids")
    return named


def _non_positive(sample: Sample, named: list[JsonValue] | None) -> JsonObject:
    """The token spans of the completions that are named."""
    if named is None:
        return {}
    spans: list[JsonValue] = [[turn.start, turn.end] for turn in sample.turns if turn.response_id in named]
    return {"non_positive_advantage_spans": spans}


def _reward(agent_metadata: JsonObject) -> float | None:
    reward = agent_metadata.get("reward")
    return float(reward) if isinstance(reward, int | float) else None


#: The built-in postprocessors by name.
POSTPROCESSORS: MappingProxyType[str, Postprocessor] = MappingProxyType(
    {"default_postprocess": default_postprocess}
)

__all__ = ["POSTPROCESSORS", "SERVER_OWNED", "Postprocessor", "default_postprocess"]
