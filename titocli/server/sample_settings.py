"""How a server makes samples."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from titocli.session.samples.hooks import SampleHooks

#: Threads that assemble samples and run hooks, apart from those that plan turns.
SAMPLE_THREADS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSettings:
    """The hooks, the most ids of a sample (None: no limit) where a collector says none, and the threads."""

    hooks: SampleHooks = field(default_factory=SampleHooks)
    max_seq_len: int | None = None
    workers: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(SAMPLE_THREADS, thread_name_prefix="titocli-samples")
    )


__all__ = ["SAMPLE_THREADS", "SampleSettings"]
