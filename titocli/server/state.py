"""What the routes of a server share."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import ParamSpec, TypeVar
from uuid import uuid4

from starlette.requests import Request

from titocli.engine.protocol import Engine
from titocli.errors import InvalidMessages
from titocli.families.control_tokens import ControlTokens
from titocli.families.kwargs import resolve_kwargs
from titocli.families.renderer import Renderer
from titocli.jsonvalue import JsonObject, JsonValue
from titocli.server.auth import ApiKey
from titocli.server.drain import Drain
from titocli.server.http import LARGE_BODY_BYTES, MAX_BODY_BYTES, understood
from titocli.server.registry import LiveSession, SessionRegistry
from titocli.server.sample_settings import SampleSettings
from titocli.server.sse import KEEP_ALIVE_SECONDS
from titocli.session.generation import ReplayOutputs
from titocli.session.history import HistoryPolicy
from titocli.session.limits import SessionLimits
from titocli.session.matching import STRICT, Matcher
from titocli.wire.anthropic_system import renders_system_in_place

P = ParamSpec("P")
R = TypeVar("R")

#: Threads that render, encode and assemble; each holds a tokenizer of its own.
WORKER_THREADS = 2
#: Bytes of a body that is read at once on the event loop: less than half a millisecond as a rule.
_SMALL_BODY_BYTES = 16 * 1024


@dataclass(frozen=True, kw_only=True)
class SessionServer:
    """The renderer, the engine, the sessions and the worker threads of one server."""

    renderer: Renderer
    engine: Engine
    policy: HistoryPolicy = HistoryPolicy.TREE
    control_tokens: ControlTokens = ControlTokens.TEXT
    launch_kwargs: Mapping[str, JsonValue] = field(default_factory=dict)
    registry: SessionRegistry = field(default_factory=SessionRegistry)
    workers: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(WORKER_THREADS, thread_name_prefix="titocli")
    )
    #: Parses large bodies, one after the other: parsing lets no other thread run.
    parser: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="titocli-parser")
    )
    samples: SampleSettings = field(default_factory=SampleSettings)
    matcher: Matcher = STRICT
    limits: SessionLimits = field(default_factory=SessionLimits)
    replay: ReplayOutputs | None = None
    drain: Drain = field(default_factory=Drain)
    api_key: ApiKey | None = None
    keep_alive_seconds: float = KEEP_ALIVE_SECONDS
    max_body_bytes: int = MAX_BODY_BYTES
    #: Tells one start of a server from another on the same port.
    instance_id: str = field(default_factory=lambda: uuid4().hex)

    async def off_loop(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run CPU work in a worker thread: the event loop only waits."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self.workers, lambda: work(*args, **kwargs))
        except RecursionError as error:
            raise InvalidMessages("the messages are nested too deeply") from error

    async def understood(self, body: bytearray, understand: Callable[[JsonObject], R]) -> R:
        """What ``understand`` makes of a body as a JSON object; off the event loop unless it is small."""
        if len(body) <= _SMALL_BODY_BYTES:
            return understood(body, understand)
        reader = self.workers if len(body) <= LARGE_BODY_BYTES else self.parser
        return await asyncio.get_running_loop().run_in_executor(reader, understood, body, understand)

    @cached_property
    def system_in_place(self) -> bool:
        """Whether the template prints a later system message where it stands."""
        family = self.renderer.family
        return renders_system_in_place(self.renderer, resolve_kwargs(family, self.launch_kwargs))

    async def warm(self) -> None:
        """Give each worker thread its tokenizer, and count the ids: both take a third of a second."""
        together = threading.Barrier(WORKER_THREADS)

        def encode() -> None:
            together.wait()  # one task a thread
            self.renderer.tokenizer.encode("warm")
            _ = self.engine.vocab_size

        await asyncio.gather(*(self.off_loop(encode) for _ in range(WORKER_THREADS)))

    def live(self, request: Request) -> LiveSession:
        """The session that a request's path names; raises ``SessionNotFound`` or ``SessionDeleted``."""
        return self.registry.get(request.path_params["session_id"])


__all__ = ["SessionServer"]
