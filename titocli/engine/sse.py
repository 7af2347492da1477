"""Server-sent events, read: the data of each event of a body that comes in pieces."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

_DATA = b"data:"


async def event_data(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """The ``data`` of each event, as it arrives.

    Lines end at a line feed alone: text in JSON may hold every other character that Unicode calls a line
    end.  Comments and other fields are left out, and an event that the body's end cuts off.
    """
    rest = b""
    data: list[bytes] = []
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            stripped = line.rstrip(b"\r")
            if stripped.startswith(_DATA):
                data.append(stripped[len(_DATA) :].lstrip(b" "))
            elif not stripped and data:
                yield b"\n".join(data)
                data = []


__all__ = ["event_data"]
