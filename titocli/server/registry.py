"""The live sessions of a server, and the memory of those that were deleted."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from uuid import uuid4

from titocli.errors import SessionDeleted, SessionLimit, SessionNotFound
from titocli.session.session import Session

#: Sessions that a server holds at once.
MAX_SESSIONS = 4096
#: Deleted sessions that are remembered, so that a late agent is told to stop (410) and not to retry (404).
REMEMBERED_DELETIONS = 4096


@dataclass(frozen=True, slots=True)
class LiveSession:
    """A session with the lock that serialises its planning and committing."""

    id: str
    session: Session
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class SessionRegistry:
    """Sessions by id."""

    def __init__(self, *, max_sessions: int = MAX_SESSIONS) -> None:
        self._live: dict[str, LiveSession] = {}
        self._deleted: OrderedDict[str, None] = OrderedDict()
        self._max_sessions = max_sessions

    def __len__(self) -> int:
        return len(self._live)

    def add(self, session: Session) -> LiveSession:
        """Register a new session under a fresh id; raises ``SessionLimit``."""
        if len(self._live) >= self._max_sessions:
            raise SessionLimit(
                f"the server holds its limit of {self._max_sessions} sessions",
                hint="delete sessions that are done",
                details={"max_sessions": self._max_sessions},
            )
        live = LiveSession(uuid4().hex, session)
        self._live[live.id] = live
        return live

    def get(self, session_id: str) -> LiveSession:
        """The session; raises ``SessionDeleted`` or ``SessionNotFound``."""
        live = self._live.get(session_id)
        if live is not None:
            return live
        if session_id in self._deleted:
            raise SessionDeleted(
                "this session was deleted; nobody waits for its result any more", hint="stop the agent"
            )
        raise SessionNotFound("no session of this id", hint="create one with POST /sessions")

    def delete(self, session_id: str) -> None:
        """Forget a session; a generation in flight will not be committed."""
        self.get(session_id)
        del self._live[session_id]
        self._deleted[session_id] = None
        while len(self._deleted) > REMEMBERED_DELETIONS:
            self._deleted.popitem(last=False)


__all__ = ["MAX_SESSIONS", "LiveSession", "SessionRegistry"]
