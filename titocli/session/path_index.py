"""Which turns of a tree a request replays: those whose whole path of messages is a prefix of the request's.

Built-in matchers hash: each stored message is hashed once, a path is a chain of hashes, and a request costs
one look-up a message whatever the size of the tree.  Functions of the user's are asked message by message,
down the tree from its roots; a turn is entered only when all its messages match.  Nothing here recurses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import starmap
from typing import Protocol

from titocli.errors import InvalidMessages
from titocli.jsonvalue import Message
from titocli.session.matching import NO_MESSAGES, HashedMatcher, Matcher, PredicateMatcher
from titocli.session.tree import Turn


class Replayed(Protocol):
    """The turns that one request replays."""

    @property
    def message_count(self) -> int:
        """The messages of the request."""
        ...

    def covers(self, turn_id: int) -> bool:
        """Whether the request replays the whole path of a turn."""
        ...

    def deepest(self) -> int | None:
        """The replayed turn with the most messages, the latest of equals; None where there is none."""
        ...


class PathIndex(Protocol):
    """What a matcher remembers of a tree; turns are added in commit order."""

    def add(self, turn: Turn) -> None:
        """Remember a turn whose parent was added before."""
        ...

    def replayed(self, messages: Sequence[Message]) -> Replayed:
        """The turns that ``messages`` replay; changes nothing."""
        ...


def path_index(matcher: Matcher) -> PathIndex:
    """An empty index for a matcher."""
    return HashedIndex(matcher) if isinstance(matcher, HashedMatcher) else PredicateIndex(matcher)


class HashedIndex:
    """Turns by the digest of their path."""

    def __init__(self, matcher: HashedMatcher) -> None:
        self._matcher = matcher
        self._digests: list[bytes] = []
        self._latest: dict[bytes, int] = {}

    def add(self, turn: Turn) -> None:
        """Remember a turn; among turns of equal messages the latest is found."""
        path = self._path(turn)
        self._digests.append(path)
        self._latest[path] = turn.id

    def _path(self, turn: Turn) -> bytes:
        path = NO_MESSAGES if turn.parent is None else self._digests[turn.parent]
        try:
            for digest in self._prefixes(path, turn.messages):
                path = digest
        except InvalidMessages:
            # Nested too deeply to be compared: a path that no request replays.
            return b"turn %d" % turn.id
        return path

    def replayed(self, messages: Sequence[Message]) -> Replayed:
        """The turns whose digest is that of a prefix of ``messages``."""
        return _HashedReplayed(self._digests, self._latest, list(self._prefixes(NO_MESSAGES, messages)))

    def _prefixes(self, path: bytes, messages: Iterable[Message]) -> Iterator[bytes]:
        digest = self._matcher.digest
        for message in messages:
            path = digest(message, after=path)
            yield path


class _HashedReplayed:
    def __init__(self, digests: list[bytes], latest: dict[bytes, int], prefixes: list[bytes]) -> None:
        self._digests = digests
        self._latest = latest
        self._prefixes = prefixes
        self._prefix_set = frozenset(prefixes)

    @property
    def message_count(self) -> int:
        return len(self._prefixes)

    def covers(self, turn_id: int) -> bool:
        return self._digests[turn_id] in self._prefix_set

    def deepest(self) -> int | None:
        found = (self._latest.get(prefix) for prefix in reversed(self._prefixes))
        return next((turn for turn in found if turn is not None), None)


class PredicateIndex:
    """Turns by their parent, for matchers that cannot hash."""

    def __init__(self, matcher: PredicateMatcher) -> None:
        self._matcher = matcher
        self._children: defaultdict[int | None, list[Turn]] = defaultdict(list)

    def add(self, turn: Turn) -> None:
        """Remember a turn."""
        self._children[turn.parent].append(turn)

    def replayed(self, messages: Sequence[Message]) -> Replayed:
        """The turns that are reached from the roots by matches alone; raises ``MatcherContract``."""
        reached: dict[int, int] = {}
        open_turns = list(self._children.get(None, ()))
        while open_turns:
            turn = open_turns.pop()
            if self._replays(turn, messages):
                reached[turn.id] = turn.message_count
                open_turns.extend(self._children.get(turn.id, ()))
        return _PredicateReplayed(reached, len(messages))

    def _replays(self, turn: Turn, messages: Sequence[Message]) -> bool:
        first = turn.message_count - len(turn.messages)
        given = messages[first : turn.message_count]
        if len(given) < len(turn.messages):
            return False
        return all(starmap(self._matcher.same, zip(turn.messages, given, strict=True)))


class _PredicateReplayed:
    def __init__(self, message_counts: dict[int, int], requested: int) -> None:
        self._message_counts = message_counts
        self._requested = requested

    @property
    def message_count(self) -> int:
        return self._requested

    def covers(self, turn_id: int) -> bool:
        return turn_id in self._message_counts

    def deepest(self) -> int | None:
        return max(self._message_counts, key=lambda turn: (self._message_counts[turn], turn), default=None)


__all__ = ["HashedIndex", "PathIndex", "PredicateIndex", "Replayed", "path_index"]
