"""Work for a client that may go away."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

from starlette.requests import ClientDisconnect, Request

T = TypeVar("T")


async def unless_disconnected(request: Request, work: Coroutine[None, None, T]) -> T:
    """The result of ``work``; when the client goes away, it is cancelled and ``ClientDisconnect`` raised.

    The request's body must have been read.
    """
    working = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        gone.cancel()
        working.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


__all__ = ["unless_disconnected"]
