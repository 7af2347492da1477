"""The live sessions of a server, and the memory of those that ended."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import uuid4

from titocli.errors import SessionDeleted, SessionLimit, SessionNotFound
from titocli.server.flights import Flights
from titocli.server.replies import Replies
from titocli.session.session import Session

#: Sessions that a server holds at once.
MAX_SESSIONS = 4096
#: Seconds after which a session that nobody uses ends.
SESSION_TTL_SECONDS = 2 * 60 * 60.0
#: Ended sessions that are remembered, so that a late agent is told to stop (410) and not to retry (404).
REMEMBERED_ENDS = 4096


class End(StrEnum):
    """Why a session ended."""

    DELETED = "deleted"
    EXPIRED = "expired"


_SAID = {
    End.DELETED: "this session was deleted; nobody waits for its result any more",
    End.EXPIRED: "this session expired: nobody used it for longer than the server keeps idle sessions",
}


@dataclass(slots=True, eq=False)
class LiveSession:
    """A session with the lock that serialises its planning and committing.

    ``created_at`` is in seconds since the epoch; ``used_at`` is the registry's clock at the last request.
    """

    id: str
    session: Session
    created_at: float
    used_at: float
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    flights: Flights = field(default_factory=Flights)
    replies: Replies = field(default_factory=Replies)


class SessionRegistry:
    """Sessions by id; one that is idle for ``ttl_seconds`` (None: never) ends, unless a turn is under way."""

    def __init__(
        self,
        *,
        max_sessions: int = MAX_SESSIONS,
        ttl_seconds: float | None = SESSION_TTL_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._live: dict[str, LiveSession] = {}
        self._ended: OrderedDict[str, End] = OrderedDict()
        self._max_sessions = max_sessions
        self._ttl_seconds = ttl_seconds
        self._clock = clock

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[LiveSession]:
        return iter(tuple(self._live.values()))

    @property
    def turns_under_way(self) -> int:
        """Turns of all sessions that have not ended yet."""
        return sum(len(live.flights) for live in self)

    def add(self, session: Session) -> LiveSession:
        """Register a new session under a fresh id; raises ``SessionLimit``."""
        if len(self._live) >= self._max_sessions:
            self.expire()
        if len(self._live) >= self._max_sessions:
            raise SessionLimit(
                f"the server holds its limit of {self._max_sessions} sessions",
                hint="delete sessions that are done",
                details={"max_sessions": self._max_sessions},
            )
        live = LiveSession(uuid4().hex, session, created_at=time.time(), used_at=self._clock())
        self._live[live.id] = live
        return live

    def get(self, session_id: str) -> LiveSession:
        """The session, used from now; raises ``SessionDeleted`` or ``SessionNotFound``."""
        live = self._live.get(session_id)
        if live is not None and self._is_expired(live):
            self._end(live, End.EXPIRED)
            live = None
        if live is None:
            raise self._absent(session_id)
        self.touch(live)
        return live

    def touch(self, live: LiveSession) -> None:
        """The session was used just now."""
        live.used_at = self._clock()

    def idle_seconds(self, live: LiveSession) -> float:
        """How long nobody has used the session; 0 while a turn is under way."""
        return 0.0 if live.flights else max(0.0, self._clock() - live.used_at)

    def delete(self, session_id: str) -> LiveSession:
        """Forget a session and give it back; a turn under way will not be committed."""
        live = self.get(session_id)
        self._end(live, End.DELETED)
        return live

    def expire(self) -> int:
        """End all sessions that are idle for too long; how many there were."""
        expired = [live for live in self if self._is_expired(live)]
        for live in expired:
            self._end(live, End.EXPIRED)
        return len(expired)

    def _is_expired(self, live: LiveSession) -> bool:
        return self._ttl_seconds is not None and self.idle_seconds(live) > self._ttl_seconds

    def _end(self, live: LiveSession, end: End) -> None:
        del self._live[live.id]
        self._ended[live.id] = end
        while len(self._ended) > REMEMBERED_ENDS:
            self._ended.popitem(last=False)

    def _absent(self, session_id: str) -> SessionNotFound | SessionDeleted:
        end = self._ended.get(session_id)
        if end is None:
            return SessionNotFound("no session of this id", hint="create one with POST /sessions")
        return session_ended(end)


def session_ended(end: End) -> SessionDeleted:
    """The error for a request to a session that ended."""
    return SessionDeleted(_SAID[end], hint="stop the agent", details={"reason": end.value})


__all__ = [
    "MAX_SESSIONS",
    "SESSION_TTL_SECONDS",
    "End",
    "LiveSession",
    "SessionRegistry",
    "session_ended",
]
