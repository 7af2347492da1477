"""Stands in for the CPU build of ``sgl_kernel``, which no package registry carries.

The engine's own code runs unmodified: without compiled CPU kernels SGLang 0.5.23 takes its own plain torch
paths.  It still needs two functions of this package on a CPU; both are written here in torch.  Every other
name can be imported and raises when it is called.
"""

from collections.abc import Callable
from typing import NoReturn

import torch
from torch import Tensor

_WORD = 0xFFFFFFFF


def assign_req_to_token_pool_cpu(
    requests: Tensor, table: Tensor, starts: Tensor, ends: Tensor, locations: Tensor, row_length: int
) -> None:
    """Write each request's new cache locations, which lie one after another, into its row of the table."""
    counts = (ends - starts).tolist()
    for request, start, new in zip(requests.tolist(), starts.tolist(), locations.split(counts), strict=True):
        table[request, start : start + len(new)] = new.to(table.dtype)


def _murmur_hash32(seed: Tensor, positions: Tensor, columns: Tensor) -> Tensor:
    """MurmurHash3 of the 16 bytes (seed low, seed high, position, column), for every pair of row and column.

    In int64 with the upper half masked away: a wrapped product has the right lower half.
    """
    words = (seed & _WORD, (seed >> 32) & _WORD, positions.to(torch.int64) & _WORD)
    state = torch.zeros(len(seed), 1, dtype=torch.int64)
    for word in words:
        state = _stirred(state, word[:, None])
    state = _stirred(state, (columns.to(torch.int64) & _WORD)[None, :]) ^ 16
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        state = ((state ^ (state >> shift)) * factor) & _WORD
    return (state ^ (state >> 16)).to(torch.uint32)


def _stirred(state: Tensor, word: Tensor) -> Tensor:
    word = (_rotated((word * 0xCC9E2D51) & _WORD, 15) * 0x1B873593) & _WORD
    return (_rotated(state ^ word, 13) * 5 + 0xE6546B64) & _WORD


def _rotated(value: Tensor, bits: int) -> Tensor:
    return ((value << bits) | (value >> (32 - bits))) & _WORD


_library = torch.library.Library("sgl_kernel", "FRAGMENT")
_library.define("murmur_hash32_cpu(Tensor seed, Tensor positions, Tensor col_indices) -> Tensor")
_library.impl("murmur_hash32_cpu", _murmur_hash32, "CPU")


def __getattr__(name: str) -> Callable[..., NoReturn]:
    if name.startswith("__"):
        raise AttributeError(name)

    def absent(*_args: object, **_kwargs: object) -> NoReturn:
        raise NotImplementedError(f"sgl_kernel.{name} has no CPU stand-in")

    return absent
