"""The append-only tree of a session's turns.

A node stores deltas: its own new messages, its own prompt ids after the parent's, its completion.  Whole
prompts and message lists are put together on demand, so memory grows with the session's tokens, never with
turns squared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from titocli.jsonvalue import Message
from titocli.session.arguments import TurnArguments
from titocli.session.generation import Completion, FinishReason
from titocli.tokens.ids import TokenIds, token_ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One committed generation: a node of the tree.

    ``id`` is its place in commit order.  Its prompt is the parent's ids without the last ``trim``, then
    ``prompt_delta`` (boundary glue and suffix; the whole prompt at a root).  ``messages`` are the appended
    ones and the assistant's, ``message_count`` counts those of the whole path.
    Times are seconds since the epoch, given by the caller.
    """

    id: int
    parent: int | None
    messages: tuple[Message, ...]
    message_count: int
    trim: int
    prompt_delta: TokenIds
    prompt_length: int
    completion: Completion
    arguments: TurnArguments
    requested_at: float
    committed_at: float

    @property
    def token_count(self) -> int:
        """Ids of the path up to and including this turn's completion."""
        return self.prompt_length + len(self.completion.ids)

    @property
    def reused_count(self) -> int:
        """Prompt ids taken over from the parent, never encoded again."""
        return self.prompt_length - len(self.prompt_delta)

    @property
    def truncated(self) -> bool:
        """Whether the completion ended at a length limit."""
        return self.completion.finish_reason is FinishReason.LENGTH


class SessionTree:
    """Turns by id; nothing is ever removed or changed."""

    def __init__(self) -> None:
        self._turns: list[Turn] = []

    def __len__(self) -> int:
        return len(self._turns)

    def __getitem__(self, turn_id: int) -> Turn:
        return self._turns[turn_id]

    def __iter__(self) -> Iterator[Turn]:
        return iter(self._turns)

    def append(self, turn: Turn) -> None:
        """Add a turn whose parent is in the tree and whose id is the next one."""
        if turn.id != len(self._turns) or (turn.parent is not None and turn.parent >= turn.id):
            raise ValueError(f"turn {turn.id} with parent {turn.parent} does not continue this tree")
        self._turns.append(turn)

    def path(self, turn_id: int | None) -> tuple[Turn, ...]:
        """The turns from the root to ``turn_id``; empty for None."""
        turns: list[Turn] = []
        while turn_id is not None:
            turns.append(self._turns[turn_id])
            turn_id = self._turns[turn_id].parent
        return tuple(reversed(turns))

    def messages(self, turn_id: int | None) -> list[Message]:
        """The messages of a path, in their stored spelling."""
        return [message for turn in self.path(turn_id) for message in turn.messages]

    def ids(self, turn_id: int | None) -> TokenIds:
        """Prompt and completion ids of a path: what the engine read and wrote."""
        ids = token_ids()
        for turn in self.path(turn_id):
            _extend_prompt(ids, turn)
            ids.extend(turn.completion.ids)
        return ids

    def prompt_ids(self, turn_id: int) -> TokenIds:
        """The exact ids that the engine was given for a turn."""
        turn = self._turns[turn_id]
        ids = self.ids(turn.parent)
        _extend_prompt(ids, turn)
        return ids

    def leaves(self) -> tuple[int, ...]:
        """Ids of the turns without children, in commit order."""
        parents = {turn.parent for turn in self._turns}
        return tuple(turn.id for turn in self._turns if turn.id not in parents)


def _extend_prompt(ids: TokenIds, turn: Turn) -> None:
    if turn.trim:
        del ids[-turn.trim :]
    ids.extend(turn.prompt_delta)


__all__ = ["SessionTree", "Turn"]
