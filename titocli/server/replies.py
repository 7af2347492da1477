"""Replies while they are made: read by the client that asked, and kept for one that asks again.

A request with an idempotency key is answered once.  The same key with the same body gets the same bytes,
also while the first reply is being made; with another body it is refused.  Only replies to committed turns
are kept: what failed may be tried again under the same key.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator

from titocli.errors import IdempotencyConflict, UnsupportedRequest

#: Replies that are kept for one session, and their bytes together.
KEPT_REPLIES = 32
KEPT_BYTES = 16 * 1024 * 1024
_MAX_KEY_CHARS = 255


class Reply:
    """The body of one reply, in pieces; a task of its own makes it.

    ``kept``: the task goes on when the client goes away, for the client will ask again.
    """

    def __init__(self, made: AsyncIterator[bytes], *, digest: bytes = b"", kept: bool = False) -> None:
        self.digest = digest
        self._kept = kept
        self._pieces: list[bytes] = []
        self._changed = asyncio.Event()
        self._task = asyncio.ensure_future(self._make(made))
        self._task.add_done_callback(_seen)

    @property
    def done(self) -> bool:
        """Whether the whole body is there, or the reply has failed."""
        return self._task.done()

    @property
    def failed(self) -> bool:
        """Whether the reply was broken off."""
        return self.done and (self._task.cancelled() or self._task.exception() is not None)

    @property
    def size(self) -> int:
        """Bytes of the body so far."""
        return sum(map(len, self._pieces))

    async def _make(self, made: AsyncIterator[bytes]) -> None:
        async for piece in made:
            self._pieces.append(piece)
            self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait(self, count: int, seconds: float | None = None) -> bool:
        """Wait for the piece after the first ``count``, or the end; False when neither came in time.

        Raises what broke the reply off, once the pieces before that are read.
        """
        if len(self._pieces) <= count and not self._task.done():
            changed = asyncio.ensure_future(self._changed.wait())
            try:
                await asyncio.wait(
                    {changed, self._task}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
                )
            finally:
                changed.cancel()
        if len(self._pieces) > count:
            return True
        if self._task.done():
            self._task.result()
        return self._task.done()

    async def begun(self, seconds: float | None) -> None:
        """Wait for the first piece, or the end, or so many seconds; raises what broke the reply off."""
        try:
            await self.wait(0, seconds)
        except asyncio.CancelledError:
            self.leave()
            raise

    def leave(self) -> None:
        """The client went away, or has read all."""
        if not self._kept and not self.done:
            self._task.cancel()

    async def whole(self) -> bytes:
        """The whole body; raises what broke the reply off."""
        try:
            await asyncio.shield(self._task)
        finally:
            self.leave()
        return b"".join(self._pieces)

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """The pieces of the body from the first; raises what broke the reply off."""
        at = 0
        try:
            while await self.wait(at) and at < len(self._pieces):
                yield self._pieces[at]
                at += 1
        finally:
            self.leave()


def _seen(task: asyncio.Future[None]) -> None:
    """A reply that nobody reads may fail in silence."""
    if not task.cancelled():
        task.exception()


class Replies:
    """The replies of one session by idempotency key."""

    def __init__(self) -> None:
        self._by_key: OrderedDict[str, Reply] = OrderedDict()

    def get(self, key: str, digest: bytes) -> Reply | None:
        """The reply under a key, or None for a key that is new.

        Raises ``IdempotencyConflict`` where its request had another body.
        """
        if len(key) > _MAX_KEY_CHARS:
            raise UnsupportedRequest(
                f"an idempotency key has at most {_MAX_KEY_CHARS} characters",
                hint="a UUID will do",
                details={"param": "Idempotency-Key"},
            )
        self._forget()
        reply = self._by_key.get(key)
        if reply is not None and reply.digest != digest:
            raise IdempotencyConflict(
                "this idempotency key was used for another request",
                hint="a new request needs a new key; a repeated one must have the same body",
            )
        return reply

    def put(self, key: str, reply: Reply) -> None:
        """Keep a reply that is being made."""
        self._by_key[key] = reply

    def _forget(self) -> None:
        """Drop what failed, and the oldest finished replies beyond the bounds."""
        for key in [key for key, reply in self._by_key.items() if reply.failed]:
            del self._by_key[key]
        finished = [key for key, reply in self._by_key.items() if reply.done]
        size = sum(self._by_key[key].size for key in finished)
        while finished and (len(finished) > KEPT_REPLIES or size > KEPT_BYTES):
            oldest = finished.pop(0)
            size -= self._by_key.pop(oldest).size


__all__ = ["KEPT_BYTES", "KEPT_REPLIES", "Replies", "Reply"]
