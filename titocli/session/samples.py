"""Training samples: what a trainer gets of each leaf."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from enum import StrEnum

from titocli.jsonvalue import JsonObject
from titocli.session.session import Session
from titocli.session.tree import Turn
from titocli.tokens.ids import TokenIds, token_ids


class SampleStatus(StrEnum):
    """How a sample ended."""

    COMPLETED = "completed"
    TRUNCATED = "truncated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One leaf as training data; ``leaf`` is the last turn that it holds.

    ``tokens`` holds every id of the path, prompt and completions.  ``loss_mask`` (0 or 1) and
    ``rollout_log_probs`` (float64, 0.0 where the mask is 0) cover the last ``response_length`` of them: all
    that follows the first prompt.  The mask is 1 exactly on ids that the engine sampled.
    """

    leaf: int
    tokens: TokenIds
    response_length: int
    loss_mask: bytes
    rollout_log_probs: array[float]
    status: SampleStatus
    metadata: JsonObject


@dataclass(slots=True)
class _Draft:
    tokens: TokenIds = field(default_factory=token_ids)
    loss_mask: bytearray = field(default_factory=bytearray)
    log_probs: array[float] = field(default_factory=lambda: array("d"))

    def add(self, turn: Turn) -> None:
        """Add a turn: what the boundary trimmed of the turn before, the new prompt ids, the completion."""
        if turn.trim:
            for column in (self.tokens, self.loss_mask, self.log_probs):
                del column[-turn.trim :]
        observed = len(turn.prompt_delta)
        sampled = turn.completion
        self.tokens.extend(turn.prompt_delta)
        self.loss_mask.extend(bytes(observed))
        self.log_probs.extend([0.0] * observed)
        self.tokens.extend(sampled.ids)
        self.loss_mask.extend(b"\x01" * len(sampled.ids))
        self.log_probs.extend(sampled.log_probs)


def samples(session: Session) -> tuple[Sample, ...]:
    """One sample per trained leaf, in commit order; a path stops at its first truncated turn."""
    return tuple(_sample(session.tree.path(leaf)) for leaf in session.leaves())


def _sample(path: tuple[Turn, ...]) -> Sample:
    used = _until_truncated(path)
    draft = _Draft()
    for turn in used:
        draft.add(turn)
    first_prompt = path[0].prompt_length
    last = used[-1]
    return Sample(
        leaf=last.id,
        tokens=draft.tokens,
        response_length=len(draft.tokens) - first_prompt,
        loss_mask=bytes(draft.loss_mask[first_prompt:]),
        rollout_log_probs=draft.log_probs[first_prompt:],
        status=SampleStatus.TRUNCATED if last.truncated else SampleStatus.COMPLETED,
        metadata={
            "leaf": {
                "node_id": last.id,
                "parent": last.parent,
                "path_node_ids": [turn.id for turn in used],
                "response_id": last.completion.response_id,
            },
            "turns": [_turn_span(turn) for turn in used],
            "weight_versions": [
                {
                    "version": v.version,
                    "start": turn.prompt_length + v.start,
                    "end": turn.prompt_length + v.end,
                }
                for turn in used
                for v in turn.completion.weight_versions
            ],
        },
    )


def _turn_span(turn: Turn) -> JsonObject:
    return {
        "node_id": turn.id,
        "completion_span": [turn.prompt_length, turn.token_count],
        "finish_reason": turn.completion.finish_reason.value,
        "parse_attempts": list(turn.completion.parse_attempts),
    }


def _until_truncated(path: tuple[Turn, ...]) -> tuple[Turn, ...]:
    for count, turn in enumerate(path, start=1):
        if turn.truncated:
            return path[:count]
    return path


__all__ = ["Sample", "SampleStatus", "samples"]
