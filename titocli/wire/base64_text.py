"""Large payloads as base64 text, without keeping other threads waiting."""

from __future__ import annotations

from binascii import b2a_base64

#: Bytes that are encoded at once; whole groups of three.
_PIECE = 3 << 18


def base64_text(data: bytes) -> str:
    """The bytes in base64 without line breaks; other threads get their turn between pieces."""
    pieces = (data[at : at + _PIECE] for at in range(0, len(data), _PIECE))
    return "".join(b2a_base64(piece, newline=False).decode("ascii") for piece in pieces)


__all__ = ["base64_text"]
