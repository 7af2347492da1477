"""Runs the application until a signal ends it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
import uvloop

from titocli.errors import ConflictingOption, TitoError
from titocli.jsonvalue import JsonObject
from titocli.server.app import create_app
from titocli.server.state import SessionServer

#: Seconds that turns in flight get after the first SIGTERM.
DRAIN_SECONDS = 30


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
    return {"url": url, "openai_base_url": f"{url}/sessions/{{session_id}}/v1", "pid": os.getpid()}


def write_atomically(path: Path, document: JsonObject) -> None:
    """Write a JSON file that is never seen half-written."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(document, sort_keys=True) + "\n")
    draft.replace(path)


class _AnnouncingServer(uvicorn.Server):
    """A uvicorn server that tells when it accepts requests, and returns after a signal.

    uvicorn's own raises the signal again when it is done, which would end the process before the engine is
    stopped and with another exit code than 0.
    """

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self._on_ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        for number in before:
            # uvicorn ends at once on a second SIGINT; here on a second SIGTERM too.
            loop.add_signal_handler(number, self.handle_exit, signal.SIGINT, None)
        try:
            yield
        finally:
            for number, handler in before.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)


def serve(
    server: SessionServer,
    listener: socket.socket,
    *,
    on_ready: Callable[[], None],
    watch: Callable[[], None] = lambda: None,
) -> None:
    """Start the engine and serve until SIGTERM or Ctrl-C.

    Then turns in flight finish, new connections are refused and the engine is closed; a second signal ends
    at once.  Raises the engine's error when it does not start, and what ``watch`` raises, which is called
    every second and says that the engine has died.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(server, listener, on_ready, watch))


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
    http = _AnnouncingServer(config, on_ready)
    watching = asyncio.ensure_future(_watch(http, watch))
    try:
        await http.serve(sockets=[listener])
        if watching.done():
            watching.result()
    finally:
        watching.cancel()
        await server.engine.aclose()
        server.workers.shutdown(wait=False, cancel_futures=True)


async def _watch(http: uvicorn.Server, watch: Callable[[], None]) -> None:
    try:
        while True:
            watch()
            await asyncio.sleep(1.0)
    except TitoError:
        http.should_exit = True
        raise


__all__ = ["base_url", "bind", "ready_document", "serve", "write_atomically"]
