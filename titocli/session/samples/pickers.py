"""Which leaves are trained.

A picker takes the samples in commit order and the session's metadata, and returns some of them, in its own
order.  It selects; it changes nothing.  Retries show in the tree: turns under one parent.  Only whole leaves
are dropped, never a turn that another leaf continues.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from types import MappingProxyType
from typing import TypeAlias

import msgspec

from titocli.jsonvalue import JsonObject
from titocli.session.samples.sample import Sample
from titocli.session.tree import Turn

Picker: TypeAlias = "Callable[[Sequence[Sample], JsonObject], Sequence[Sample]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    """A turn in ``session_metadata["tree"]["nodes"]``; equal digests: equal parent and prompt ids."""

    id: int
    parent: int | None
    prompt_digest: str


@dataclass(frozen=True, slots=True)
class _Family:
    """The turns of a session by their parent."""

    nodes: dict[int, _Node]
    children: dict[int | None, list[_Node]]

    def later_siblings(self, leaf: int) -> list[_Node]:
        """Turns that were committed after ``leaf`` under its parent; roots are siblings of each other."""
        return [node for node in self.children[self.nodes[leaf].parent] if node.id > leaf]

    def retried(self, leaf: int) -> bool:
        """Whether a later sibling was generated from exactly the same prompt."""
        digest = self.nodes[leaf].prompt_digest
        return any(node.prompt_digest == digest for node in self.later_siblings(leaf))

    def is_root(self, leaf: int) -> bool:
        """Whether the leaf has no parent."""
        return self.nodes[leaf].parent is None

    def path_length(self, leaf: int) -> int:
        """Turns from the root to the leaf."""
        node, length = self.nodes[leaf], 1
        while node.parent is not None:
            node, length = self.nodes[node.parent], length + 1
        return length


def prompt_digest(turn: Turn) -> str:
    """What tells a turn's prompt from those of its siblings: equal for equal parent and prompt ids alone."""
    # The rest of the prompt is the parent's ids; how many of them were trimmed is decided by them alone.
    return blake2b(f"{turn.parent}:".encode() + turn.prompt_delta.tobytes(), digest_size=16).hexdigest()


def all_leaves(samples: Sequence[Sample], session_metadata: JsonObject) -> list[Sample]:
    """Every leaf."""
    return _ordered(samples, _family(session_metadata))


def drop_retries_same_prompt(samples: Sequence[Sample], session_metadata: JsonObject) -> list[Sample]:
    """Drop a leaf when a later sibling (of a first turn: a later first turn) has exactly the same prompt ids.

    An edited follow-up is a branch of its own, and both are trained.
    """
    family = _family(session_metadata)
    return _ordered([sample for sample in samples if not family.retried(sample.leaf)], family)


def drop_retries(samples: Sequence[Sample], session_metadata: JsonObject) -> list[Sample]:
    """Drop a leaf when it has any later sibling; first turns are always kept."""
    family = _family(session_metadata)
    kept = [s for s in samples if family.is_root(s.leaf) or not family.later_siblings(s.leaf)]
    return _ordered(kept, family)


def drop_rolled_back_leaves(samples: Sequence[Sample], session_metadata: JsonObject) -> list[Sample]:
    """Drop a leaf when it has any later sibling; a first turn only for one of the same prompt ids."""
    family = _family(session_metadata)
    return _ordered([sample for sample in samples if not _rolled_back(family, sample.leaf)], family)


def _rolled_back(family: _Family, leaf: int) -> bool:
    return family.retried(leaf) if family.is_root(leaf) else bool(family.later_siblings(leaf))


def _family(session_metadata: JsonObject) -> _Family:
    tree = session_metadata["tree"]
    nodes = msgspec.convert(tree, type=dict[str, object]).get("nodes")
    by_id = {node.id: node for node in msgspec.convert(nodes, type=list[_Node])}
    children: dict[int | None, list[_Node]] = defaultdict(list)
    for node in by_id.values():
        children[node.parent].append(node)
    return _Family(by_id, children)


def _ordered(samples: Sequence[Sample], family: _Family) -> list[Sample]:
    """Longer paths first, then later turns."""
    return sorted(samples, key=lambda sample: (-family.path_length(sample.leaf), -sample.leaf))


#: The built-in pickers by name; the first is the default.
PICKERS: MappingProxyType[str, Picker] = MappingProxyType(
    {
        picker.__name__: picker
        for picker in (drop_retries_same_prompt, drop_retries, drop_rolled_back_leaves, all_leaves)
    }
)

__all__ = [
    "PICKERS",
    "Picker",
    "all_leaves",
    "drop_retries",
    "drop_retries_same_prompt",
    "drop_rolled_back_leaves",
    "prompt_digest",
]
