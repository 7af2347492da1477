"""What the routes of a server share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

from starlette.requests import Request

from titocli.engine.protocol import Engine
from titocli.errors import InvalidMessages
from titocli.families.control_tokens import ControlTokens
from titocli.families.renderer import Renderer
from titocli.jsonvalue import JsonValue
from titocli.server.registry import LiveSession, SessionRegistry
from titocli.session.history import HistoryPolicy

P = ParamSpec("P")
R = TypeVar("R")

#: Threads that render, encode and assemble; each holds a tokenizer of its own.
WORKER_THREADS = 2


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

    async def off_loop(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run CPU work in a worker thread: the event loop only waits."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self.workers, lambda: work(*args, **kwargs))
        except RecursionError as error:
            raise InvalidMessages("the messages are nested too deeply") from error

    def live(self, request: Request) -> LiveSession:
        """The session that a request's path names; raises ``SessionNotFound`` or ``SessionDeleted``."""
        return self.registry.get(request.path_params["session_id"])


__all__ = ["SessionServer"]
