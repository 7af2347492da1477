"""The two history policies over one tree: where a request attaches, and what a commit must still find.

Both are pure functions of the tree, the head (the last committed turn) and the request's digests.

===========  =======================================  ===================================================
policy       attaches to                              refuses
===========  =======================================  ===================================================
``linear``   the head, or its parent (a retry: the    a request that would discard more than the last
             new turn takes the head's place when     turn; a commit after the head has moved
             it commits), or nothing
``tree``     the deepest turn whose whole path the    extending a turn that ended at a length limit
             request replays, or nothing (a new root)
===========  =======================================  ===================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from titocli.errors import RollbackTooDeep, StaleCommit, TruncatedPath
from titocli.session.tree import SessionTree


class HistoryPolicy(StrEnum):
    """How a session's requests relate to its turns."""

    LINEAR = "linear"
    TREE = "tree"


#: Turns that one linear request may discard.
MAX_ROLLBACK = 1


def attach(
    policy: HistoryPolicy, tree: SessionTree, head: int | None, digests: Sequence[bytes]
) -> int | None:
    """The turn that a request continues, None for a new root.

    ``digests[i]`` identifies the request's first ``i + 1`` messages.  Raises ``RollbackTooDeep`` or
    ``TruncatedPath``.
    """
    if policy is HistoryPolicy.LINEAR:
        return _attach_linear(tree, head, digests)
    return _attach_tree(tree, digests)


def _attach_tree(tree: SessionTree, digests: Sequence[bytes]) -> int | None:
    found = next((turn for digest in reversed(digests) if (turn := tree.find(digest)) is not None), None)
    if found is not None and tree[found].truncated:
        raise TruncatedPath(
            f"turn {found} ended at its length limit and cannot be extended",
            hint="branch from before the cut: leave its assistant message out",
            details={"turn": found},
        )
    return found


def _attach_linear(tree: SessionTree, head: int | None, digests: Sequence[bytes]) -> int | None:
    replayed = set(digests)
    path = tree.path(head)
    kept = [turn for turn in path if turn.digest in replayed]
    discarded = len(path) - len(kept)
    if discarded > MAX_ROLLBACK:
        raise RollbackTooDeep(
            f"the request discards {discarded} turns; a linear session can retry only the last one",
            hint="replay the stored messages, or use --history tree",
            details={"discarded": discarded, "stored_turns": len(path), "request_messages": len(digests)},
        )
    return kept[-1].id if kept else None


def refuse_stale(policy: HistoryPolicy, planned_head: int | None, head: int | None) -> None:
    """Raise ``StaleCommit`` when a linear session's head is not the turn that the plan saw."""
    if policy is HistoryPolicy.LINEAR and planned_head != head:
        raise StaleCommit(
            "another turn was committed while this one was generated; this completion was not kept",
            hint="send one request at a time, or use --history tree",
            details={"planned_head": planned_head, "head": head},
        )


__all__ = ["MAX_ROLLBACK", "HistoryPolicy", "attach", "refuse_stale"]
