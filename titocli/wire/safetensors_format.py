"""The safetensors format: named tensors in one piece of bytes.

Eight bytes with the length of a JSON header, the header (each tensor's dtype, shape and place), the data.
Written here because the library's own writer takes arrays of NumPy or addresses in memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NoReturn

import msgspec

from titocli.errors import InvalidSamples
from titocli.jsonvalue import JsonValue

_LENGTH_BYTES = 8
_ALIGNMENT = 8
#: Bytes of one value.
ITEM_BYTES: Mapping[str, int] = MappingProxyType({"U8": 1, "I16": 2, "I32": 4, "I64": 8, "F32": 4, "F64": 8})


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """Little-endian values in row-major order; ``dtype`` as safetensors spells it (``I64``, ``U8``, ...)."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A tensor in the header; offsets count from the end of the header."""

    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


def pack(tensors: Mapping[str, Tensor]) -> bytes:
    """The tensors in the order given."""
    header: dict[str, JsonValue] = {}
    offset = 0
    for name, tensor in tensors.items():
        end = offset + len(tensor.data)
        header[name] = {"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [offset, end]}
        offset = end
    text = msgspec.json.encode(header)
    text += b" " * (-len(text) % _ALIGNMENT)
    return b"".join(
        [len(text).to_bytes(_LENGTH_BYTES, "little"), text, *(tensor.data for tensor in tensors.values())]
    )


def unpack(packed: bytes) -> dict[str, Tensor]:
    """The tensors by name; raises ``InvalidSamples`` for anything that is no such file, whole and exact."""
    header_end = _LENGTH_BYTES + int.from_bytes(packed[:_LENGTH_BYTES], "little")
    if len(packed) < _LENGTH_BYTES or header_end > len(packed):
        _invalid("too short")
    entries = _header(packed[_LENGTH_BYTES:header_end])
    _require_gapless(list(entries.values()), len(packed) - header_end)
    return {name: _tensor(name, entry, packed, header_end) for name, entry in entries.items()}


def _header(text: bytes) -> dict[str, _Entry]:
    try:
        header = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        header.pop("__metadata__", None)
        return {name: msgspec.json.decode(raw, type=_Entry) for name, raw in header.items()}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        _invalid("its header cannot be read")


def _require_gapless(entries: Sequence[_Entry], size: int) -> None:
    at = 0
    for begin, end in sorted(entry.data_offsets for entry in entries):
        if begin != at or end < begin:
            _invalid("its tensors overlap or leave gaps")
        at = end
    if at != size:
        _invalid(f"its tensors have {at} bytes and {size} follow the header")


def _tensor(name: str, entry: _Entry, packed: bytes, header_end: int) -> Tensor:
    begin, end = (header_end + offset for offset in entry.data_offsets)
    item = ITEM_BYTES.get(entry.dtype)
    if item is None or any(size < 0 for size in entry.shape):
        _invalid(f"tensor {name} has dtype {entry.dtype} and shape {entry.shape}")
    if end - begin != item * math.prod(entry.shape):
        _invalid(f"tensor {name} has {end - begin} bytes, which is not {entry.dtype} of shape {entry.shape}")
    return Tensor(dtype=entry.dtype, shape=entry.shape, data=packed[begin:end])


def _invalid(why: str) -> NoReturn:
    raise InvalidSamples(
        f"this is not a safetensors document: {why}", hint="ask the server again; nothing of it can be used"
    )


__all__ = ["ITEM_BYTES", "Tensor", "pack", "unpack"]
