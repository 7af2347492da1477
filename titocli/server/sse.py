"""Server-sent events as a response, with a sign of life while nothing is ready."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress

from starlette.responses import StreamingResponse

#: Seconds without an event after which a sign of life is sent: proxies and clients give up after a minute.
KEEP_ALIVE_SECONDS = 10.0


def event_stream(
    events: AsyncIterator[bytes],
    *,
    keep_alive: bytes,
    seconds: float = KEEP_ALIVE_SECONDS,
    headers: dict[str, str] | None = None,
) -> StreamingResponse:
    """A response of encoded events, with ``keep_alive`` wherever none comes for so many seconds.

    A client that goes away cancels whatever the events wait for, and closes them.
    """
    own = {"cache-control": "no-cache", "x-accel-buffering": "no"}
    return StreamingResponse(
        kept_alive(events, keep_alive, seconds),
        media_type="text/event-stream",
        headers={**own, **(headers or {})},
    )


async def kept_alive(
    events: AsyncIterator[bytes], keep_alive: bytes, seconds: float
) -> AsyncGenerator[bytes, None]:
    """The events, with ``keep_alive`` wherever none comes for so many seconds."""
    waiting = asyncio.ensure_future(_next(events))
    try:
        while True:
            done, _ = await asyncio.wait({waiting}, timeout=seconds)
            if not done:
                yield keep_alive
                continue
            event = waiting.result()
            if event is None:
                return
            yield event
            waiting = asyncio.ensure_future(_next(events))
    finally:
        waiting.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await waiting
        if isinstance(events, AsyncGenerator):
            await events.aclose()


async def _next(events: AsyncIterator[bytes]) -> bytes | None:
    return await anext(events, None)


__all__ = ["KEEP_ALIVE_SECONDS", "event_stream", "kept_alive"]
