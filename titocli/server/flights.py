"""Turns under way: each can be cancelled from outside, and its client is told why."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from titocli.errors import TitoError

T = TypeVar("T")

#: Seconds that whoever cancels turns waits for their ends.
_ENDING_SECONDS = 10.0


class Flight:
    """One turn from its request to its commit."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self._reason: TitoError | None = None
        self._task: asyncio.Future[Any] | None = None

    def cancel(self, reason: TitoError) -> None:
        """End the turn: the engine stops, nothing is committed, and the client gets ``reason``."""
        self._reason = self._reason or reason
        if self._task is not None:
            self._task.cancel()

    def check(self) -> None:
        """Raise the reason of a turn that was cancelled."""
        if self._reason is not None:
            raise self._reason

    async def wait(self, work: Awaitable[T]) -> T:
        """The result of ``work``, which is cancelled with the turn; raises the reason when it is."""
        task = asyncio.ensure_future(work)
        self._task = task
        if self._reason is not None:
            task.cancel()
        try:
            return await task
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if self._reason is None or (current is not None and current.cancelling()):
                raise  # the client went away
            raise self._reason from None
        finally:
            self._task = None


class Flights:
    """The turns of one session that are under way."""

    def __init__(self) -> None:
        self._flying: set[Flight] = set()

    def __len__(self) -> int:
        return len(self._flying)

    def __iter__(self) -> Iterator[Flight]:
        return iter(tuple(self._flying))

    @contextmanager
    def one(self) -> Iterator[Flight]:
        """A turn is under way while the block runs."""
        flight = Flight()
        self._flying.add(flight)
        try:
            yield flight
        finally:
            self._flying.discard(flight)
            flight.ended.set()


async def cancel_all(flights: Iterable[Flight], reason: TitoError) -> int:
    """Cancel turns and wait until they have ended; how many there were."""
    cancelled = list(flights)
    for flight in cancelled:
        flight.cancel(reason)
    if cancelled:
        ends = [asyncio.ensure_future(flight.ended.wait()) for flight in cancelled]
        _, waiting = await asyncio.wait(ends, timeout=_ENDING_SECONDS)
        for end in waiting:
            end.cancel()
    return len(cancelled)


__all__ = ["Flight", "Flights", "cancel_all"]
