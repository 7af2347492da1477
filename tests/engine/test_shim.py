"""The stand-in for sgl_kernel computes what SGLang's own kernels would."""

from __future__ import annotations

import json
import os
import struct
import subprocess
from pathlib import Path

import pytest

from tests.engine.environment import CPU_ENV

pytestmark = pytest.mark.engine

_WORD = 0xFFFFFFFF
SEEDS, POSITIONS, COLUMNS = [0, 1, -5, 2**40 + 7, 2**62], [0, 3, 77, 2**31 - 1, 9], [0, 1, 151_935, 2**31]

_HASH = """
import json, sys, torch, sgl_kernel
seeds, positions, columns = (torch.tensor(values) for values in json.loads(sys.argv[1]))
print(torch.ops.sgl_kernel.murmur_hash32_cpu(seeds, positions, columns).tolist())
"""
_ASSIGN = """
import torch
from sgl_kernel import assign_req_to_token_pool_cpu as assign
table = torch.zeros(3, 5, dtype=torch.int32)
assign(torch.tensor([2, 0]), table, torch.tensor([1, 0]), torch.tensor([4, 2]), torch.arange(10, 15), 5)
print(table.tolist())
"""
_ABSENT = """
from sgl_kernel import rotate_input_ids_cpu
try:
    rotate_input_ids_cpu()
except NotImplementedError as error:
    print(repr(str(error)).replace("'", '"'))
"""


def run(python: Path, code: str, *arguments: str) -> object:
    command = [str(python), "-c", code, *arguments]
    done = subprocess.run(command, env=os.environ | CPU_ENV, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def murmur3(data: bytes) -> int:
    """MurmurHash3, 32 bits, seed 0, of whole 4-byte blocks."""

    def rotated(value: int, bits: int) -> int:
        return ((value << bits) | (value >> (32 - bits))) & _WORD

    state = 0
    for (word,) in struct.iter_unpack("<I", data):
        state ^= rotated(word * 0xCC9E2D51 & _WORD, 15) * 0x1B873593 & _WORD
        state = (rotated(state, 13) * 5 + 0xE6546B64) & _WORD
    state ^= len(data)
    state = (state ^ state >> 16) * 0x85EBCA6B & _WORD
    state = (state ^ state >> 13) * 0xC2B2AE35 & _WORD
    return state ^ state >> 16


def test_the_hash_of_seed_position_and_column_is_murmur3(engine_python: Path) -> None:
    hashed = run(engine_python, _HASH, json.dumps([SEEDS, POSITIONS, COLUMNS]))
    assert hashed == [
        [murmur3(struct.pack("<qII", seed, position, column)) for column in COLUMNS]
        for seed, position in zip(SEEDS, POSITIONS, strict=True)
    ]


def test_new_cache_locations_go_into_the_rows_of_their_requests(engine_python: Path) -> None:
    assert run(engine_python, _ASSIGN) == [[13, 14, 0, 0, 0], [0] * 5, [0, 10, 11, 12, 0]]


def test_any_other_name_raises_when_it_is_called(engine_python: Path) -> None:
    assert run(engine_python, _ABSENT) == "sgl_kernel.rotate_input_ids_cpu has no CPU stand-in"
