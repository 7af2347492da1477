"""Bringing up one engine: check, start, wait until it is ready."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from titocli.launch.command import LaunchOptions, sglang_command
from titocli.launch.process import EngineProcess, local_url, require_sglang, start_engine


@contextmanager
def running_engine(options: LaunchOptions, *, log_path: Path, wait_seconds: float) -> Iterator[EngineProcess]:
    """A ready engine, stopped with all its processes at the end.

    Until the block is entered SIGTERM ends the start like Ctrl-C does.  Raises ``ConflictingOption``,
    ``MissingExtra``, ``EngineUnreachable``, ``EngineTimeout``.
    """
    command = sglang_command(options)
    require_sglang(options.python, command.env)
    with _sigterm_interrupts():
        engine = start_engine(command, url=local_url(options.host, options.port), log_path=log_path)
        with engine:
            engine.wait_until_ready(wait_seconds)
            yield engine


@contextmanager
def _sigterm_interrupts() -> Iterator[None]:
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt


__all__ = ["running_engine"]
