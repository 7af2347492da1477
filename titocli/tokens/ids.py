"""Token ids as compact int32 arrays.

A Python list of ids costs 36 bytes an id, an ``array('i')`` four; a session's memory is mostly ids.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import TypeAlias

TokenIds: TypeAlias = "array[int]"


def token_ids(ids: Iterable[int] = ()) -> TokenIds:
    """The ids as an int32 array; raises ``OverflowError`` for what int32 cannot hold."""
    return array("i", ids)


__all__ = ["TokenIds", "token_ids"]
