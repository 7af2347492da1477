"""The two history policies over one tree: where a request attaches, and what a commit must still find.

Both are pure functions of the tree, the head (the last committed turn) and what the request replays.

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

from enum import StrEnum

from titocli.errors import RollbackTooDeep, StaleCommit, TruncatedPath
from titocli.session.path_index import Replayed
from titocli.session.tree import SessionTree


class HistoryPolicy(StrEnum):
    """How a session's requests relate to its turns."""

    LINEAR = "linear"
    TREE = "tree"


#: Turns that one linear request may discard.
MAX_ROLLBACK = 1


def attach(policy: HistoryPolicy, tree: SessionTree, head: int | None, replayed: Replayed) -> int | None:
    """The turn that a request continues, None for a new root.

    Raises ``RollbackTooDeep`` or ``TruncatedPath``.
    """
    if policy is HistoryPolicy.LINEAR:
        return _attach_linear(tree, head, replayed)
    return _attach_tree(tree, replayed)


def _attach_tree(tree: SessionTree, replayed: Replayed) -> int | None:
    found = replayed.deepest()
    if found is not None and tree[found].truncated:
        raise TruncatedPath(
            f"turn {found} ended at its length limit and cannot be extended",
            hint="branch from before the cut: leave its assistant message out",
            details={"turn": found},
        )
    return found


def _attach_linear(tree: SessionTree, head: int | None, replayed: Replayed) -> int | None:
    path = tree.path(head)
    kept = [turn for turn in path if replayed.covers(turn.id)]
    discarded = len(path) - len(kept)
    if discarded > MAX_ROLLBACK:
        raise RollbackTooDeep(
            f"the request discards {discarded} turns; a linear session can retry only the last one",
            hint="replay the stored messages, or use --history tree",
            details={
                "discarded": discarded,
                "stored_turns": len(path),
                "stored_messages": path[-1].message_count,
                "request_messages": replayed.message_count,
            },
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
