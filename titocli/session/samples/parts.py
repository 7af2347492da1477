"""How much of each turn goes into a sample: what a boundary dropped, what a limit cuts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from titocli.errors import SamplesImpossible
from titocli.session.tree import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPart:
    """The first ``kept`` completion ids of a turn; ``cut`` when a limit took the rest."""

    turn: Turn
    kept: int
    cut: bool = False

    @property
    def end(self) -> int:
        """Ids of the path up to the last kept one."""
        return self.turn.prompt_length + self.kept

    @property
    def truncated(self) -> bool:
        """Whether the part ends before its turn would have."""
        return self.cut or self.turn.truncated


def trimmed(path: Sequence[Turn], max_trim: int) -> tuple[TurnPart, ...]:
    """Each turn without what the next one's boundary dropped of it; the last turn whole.

    GLM ends a turn with the token that the next message opens with: the token is written again, so its
    first copy belongs to no prompt.  Raises ``SamplesImpossible`` where turns do not continue each other.
    """
    followers: list[Turn | None] = [*path[1:], None]
    return tuple(_part(turn, follower, max_trim) for turn, follower in zip(path, followers, strict=True))


def _part(turn: Turn, follower: Turn | None, max_trim: int) -> TurnPart:
    trim = 0 if follower is None else follower.trim
    part = TurnPart(turn=turn, kept=len(turn.completion.ids) - trim)
    if trim > max_trim or part.kept < 0:
        raise SamplesImpossible(
            f"{trim} ids of turn {turn.id} were dropped at the boundary; {max_trim} may be",
            details={"turn": turn.id, "trim": trim, "max_trim": max_trim},
        )
    if follower is not None:
        _require_continued(part, follower)
    return part


def _require_continued(part: TurnPart, follower: Turn) -> None:
    observed = follower.prompt_length - part.end
    if observed <= 0 or observed != len(follower.prompt_delta):
        raise SamplesImpossible(
            f"the prompt of turn {follower.id} does not continue turn {part.turn.id}",
            details={"turn": follower.id, "parent": part.turn.id, "observed_tokens": observed},
        )


def within(parts: Sequence[TurnPart], max_seq_len: int | None) -> tuple[TurnPart, ...]:
    """The parts that fit into ``max_seq_len`` ids; empty when not one sampled id does.

    The first turn that is too long loses its end and is truncated, or goes whole when no sampled id would
    stay of it; later turns go.
    """
    if max_seq_len is None:
        return tuple(parts)
    kept: list[TurnPart] = []
    for part in parts:
        overshoot = part.end - max_seq_len
        if overshoot > 0:
            if overshoot < part.kept:
                kept.append(replace(part, kept=part.kept - overshoot, cut=True))
            break
        kept.append(part)
    return tuple(kept)


__all__ = ["TurnPart", "trimmed", "within"]
