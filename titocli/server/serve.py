"""Runs the application until a signal ends it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
import uvloop

from titocli.errors import ConflictingOption, ServerDraining, TitoError
from titocli.jsonvalue import JsonObject
from titocli.server.app import create_app
from titocli.server.registry import SessionRegistry
from titocli.server.state import SessionServer

#: Seconds that turns in flight get after the first SIGTERM.
DRAIN_SECONDS = 30
_POLL_SECONDS = 0.05
#: How long a thread at work lets the event loop wait; an answer may wait so several times.  Python has 5 ms.
_SWITCH_SECONDS = 0.001


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 picks a free one.  Raises ``ConflictingOption`` when the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise ConflictingOption(
            f"cannot listen on {host}:{port}: {error.strerror}",
            hint="choose another --port, or 0 for a free one",
        ) from error
    listener.listen(2048)
    return listener


def base_url(listener: socket.socket) -> str:
    """The URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def ready_document(url: str) -> JsonObject:
    """What a ready file says."""
    base = f"{url}/sessions/{{session_id}}"
    return {
        "url": url,
        "openai_base_url": f"{base}/v1",
        "anthropic_base_url": base,
        "pid": os.getpid(),
        "workers": [{"url": url, "pid": os.getpid()}],
    }


def write_atomically(path: Path, document: JsonObject) -> None:
    """Write a JSON file that is never seen half-written."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(document, sort_keys=True) + "\n")
    draft.replace(path)


class _AnnouncingServer(uvicorn.Server):
    """A uvicorn server that tells when it accepts requests, drains on a signal, and returns.

    uvicorn's own raises the signal again when it is done, which would end the process before the engine is
    stopped and with another exit code than 0.  It also closes its port at once; here clients are answered
    (503 for new turns) until the turns under way have ended.
    """

    def __init__(self, config: uvicorn.Config, server: SessionServer, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._server = server
        self._on_ready = on_ready
        self._draining: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self._on_ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        for number in before:
            loop.add_signal_handler(number, self.signalled)
        try:
            yield
        finally:
            for number, handler in before.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)

    def signalled(self) -> None:
        """The first signal drains, the second cancels what is under way, the third waits for nothing."""
        if self._draining is None:
            self._server.drain.begin()
            self._draining = asyncio.ensure_future(self._drain())
            return
        self.force_exit = self.should_exit
        self.should_exit = True
        for live in self._server.registry:
            for flight in live.flights:
                flight.cancel(ServerDraining("the server ended before this turn did", hint="send it again"))

    async def _drain(self) -> None:
        deadline = time.monotonic() + DRAIN_SECONDS
        while self._server.registry.turns_under_way and time.monotonic() < deadline:
            await asyncio.sleep(_POLL_SECONDS)
        self.should_exit = True


def serve(
    server: SessionServer,
    listener: socket.socket,
    *,
    on_ready: Callable[[], None],
    watch: Callable[[], None] = lambda: None,
) -> None:
    """Start the engine and serve until SIGTERM or Ctrl-C.

    Then turns under way finish (in ``DRAIN_SECONDS``), new ones are refused with 503, and the engine is
    closed; a second signal cancels them.  Raises the engine's error when it does not start, and what
    ``watch`` raises, which is called every second and says that the engine has died.
    """
    with _quick_switches(), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(server, listener, on_ready, watch))


@contextmanager
def _quick_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


async def _serve(
    server: SessionServer,
    listener: socket.socket,
    on_ready: Callable[[], None],
    watch: Callable[[], None],
) -> None:
    config = uvicorn.Config(
        create_app(server),
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=DRAIN_SECONDS,
        lifespan="off",
    )
    await server.engine.start()
    await server.warm()
    http = _AnnouncingServer(config, server, on_ready)
    watching = asyncio.ensure_future(_watch(http, server.registry, watch))
    try:
        await http.serve(sockets=[listener])
        if watching.done():
            watching.result()
    finally:
        watching.cancel()
        await server.engine.aclose()
        for threads in (server.workers, server.parser):
            threads.shutdown(wait=False, cancel_futures=True)
        server.samples.workers.shutdown(wait=False, cancel_futures=True)


async def _watch(http: uvicorn.Server, registry: SessionRegistry, watch: Callable[[], None]) -> None:
    """Once a second: is the engine alive, and which sessions have expired."""
    try:
        while True:
            watch()
            registry.expire()
            await asyncio.sleep(1.0)
    except TitoError:
        http.should_exit = True
        raise


__all__ = ["base_url", "bind", "ready_document", "serve", "write_atomically"]
