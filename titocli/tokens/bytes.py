"""The byte alphabet of byte-level BPE.

GPT-2's byte-level BPE writes each byte as one printable character: the 188 printable Latin-1 characters
stand for themselves, the other 68 bytes are moved to U+0100 and up, in order.
"""

from __future__ import annotations

_PRINTABLE = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}


def _byte_alphabet() -> list[str]:
    moved = iter(range(0x100, 0x200))
    return [chr(byte) if byte in _PRINTABLE else chr(next(moved)) for byte in range(256)]


#: The character of each byte, by byte value.
BYTE_ALPHABET: tuple[str, ...] = tuple(_byte_alphabet())
_BYTE_OF = {char: byte for byte, char in enumerate(BYTE_ALPHABET)}


def bytes_of_token(token: str) -> bytes:
    """The bytes of a token in byte-level spelling; other characters stand for their own UTF-8."""
    if all(char in _BYTE_OF for char in token):
        return bytes(_BYTE_OF[char] for char in token)
    return token.encode()


def token_of_bytes(data: bytes) -> str:
    """The byte-level spelling of some bytes."""
    return "".join(BYTE_ALPHABET[byte] for byte in data)


__all__ = ["BYTE_ALPHABET", "bytes_of_token", "token_of_bytes"]
