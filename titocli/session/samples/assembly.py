"""From a session to its samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from titocli.jsonvalue import JsonObject, JsonValue
from titocli.session.mismatch import mismatch_entries
from titocli.session.samples.hooks import SampleHooks
from titocli.session.samples.merge import merge
from titocli.session.samples.metrics import session_metrics
from titocli.session.samples.parts import trimmed, within
from titocli.session.samples.sample import Sample
from titocli.session.session import Session
from titocli.session.tree import Turn


class EmptyReason(StrEnum):
    """Why there are no samples."""

    NO_RECORDS = "no_records"
    ALL_TRUNCATED = "all_truncated"


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRequest:
    """What a collector asks for: no more than ``max_seq_len`` ids a sample, the agent's metadata added."""

    max_seq_len: int | None = None
    agent_metadata: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSet:
    """The samples of a session.

    ``empty_reason``: nothing was committed, or nothing was left by the length limit and the hooks.
    ``metrics`` are sums over all turns of the session.
    """

    samples: tuple[Sample, ...]
    session_metadata: JsonObject
    metrics: JsonObject
    empty_reason: EmptyReason | None = None


def collect_samples(
    session: Session,
    session_metadata: JsonObject,
    *,
    leaves: Sequence[int] | None = None,
    request: SampleRequest | None = None,
    hooks: SampleHooks | None = None,
) -> SampleSet:
    """The samples of ``leaves`` (all that are trained when None), picked and postprocessed.

    Reads only: it may run while the session grows, and again.  ``session_metadata`` is what hooks see.
    Raises ``SamplesImpossible`` and ``SampleHookFailed``.
    """
    asked = request or SampleRequest()
    chosen = session.leaves() if leaves is None else leaves
    made = leaf_samples(session, chosen, max_seq_len=asked.max_seq_len)
    metadata = session_metadata
    if asked.agent_metadata:
        metadata = {**session_metadata, "agent": asked.agent_metadata}
    picked = (hooks or SampleHooks()).apply(made, metadata, asked.agent_metadata) if made else ()
    return SampleSet(
        samples=picked,
        session_metadata=metadata,
        metrics=session_metrics(session.tree),
        empty_reason=_empty_reason(chosen, picked),
    )


def samples(session: Session) -> tuple[Sample, ...]:
    """One sample a trained leaf in commit order, before anything is picked."""
    return leaf_samples(session, session.leaves())


def leaf_samples(
    session: Session, leaves: Sequence[int], *, max_seq_len: int | None = None
) -> tuple[Sample, ...]:
    """One sample a leaf, in the order of ``leaves``; leaves of which the limit leaves nothing are dropped."""
    made = (_leaf_sample(session, leaf, max_seq_len) for leaf in leaves)
    return tuple(sample for sample in made if sample is not None)


def _leaf_sample(session: Session, leaf: int, max_seq_len: int | None) -> Sample | None:
    path = session.tree.path(leaf)
    parts = within(trimmed(path, session.renderer.boundary.max_trim), max_seq_len)
    if not parts:
        return None
    return merge(leaf, parts, session.renderer.tokenizer, _metadata(session, path))


def _metadata(session: Session, path: Sequence[Turn]) -> JsonObject:
    leaf = path[-1]
    return {
        "accumulated_token_ids": session.tree.ids(leaf.id).tolist(),
        "leaf": {
            "node_id": leaf.id,
            "parent": leaf.parent,
            "path_node_ids": [turn.id for turn in path],
            "response_id": leaf.completion.response_id,
        },
        "tito_session_mismatch": mismatch_entries(session, leaf.id),
    }


def _empty_reason(leaves: Sequence[int], samples: Sequence[Sample]) -> EmptyReason | None:
    if samples:
        return None
    return EmptyReason.ALL_TRUNCATED if leaves else EmptyReason.NO_RECORDS


__all__ = ["EmptyReason", "SampleRequest", "SampleSet", "collect_samples", "leaf_samples", "samples"]
