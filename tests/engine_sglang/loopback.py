"""A real HTTP server on loopback that answers as it is told and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Answer:
    """A status with a body (objects as JSON, bytes as they are); ``hang`` waits for the event first."""

    body: Any = b""
    status: int = 200
    hang: threading.Event | None = None
    drop: bool = False

    def encoded(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass
class Asked:
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass
class Loopback:
    """``answers`` maps a path to an answer; ``asked`` are the requests in order of arrival."""

    url: str
    answers: dict[str, Answer]
    asked: list[Asked] = field(default_factory=list)
    arrived: threading.Condition = field(default_factory=threading.Condition)

    def to(self, path: str) -> list[Asked]:
        return [asked for asked in self.asked if asked.path == path]

    def wait_for(self, path: str, timeout_seconds: float = 10.0) -> Asked:
        with self.arrived:
            assert self.arrived.wait_for(lambda: self.to(path), timeout_seconds), f"nothing came to {path}"
        return self.to(path)[0]


class _Server(ThreadingHTTPServer):
    request_queue_size = 256
    loopback: Loopback


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        self._respond()

    def do_POST(self) -> None:
        self._respond()

    def log_message(self, *_: Any) -> None:
        """Quiet."""

    def _respond(self) -> None:
        answer = self._answer()
        if answer.hang:
            answer.hang.wait(30)
        if answer.drop:
            self.close_connection = True
            return
        try:
            self._write(answer.status, answer.encoded())
        except OSError:  # the client went away, as some tests want
            self.close_connection = True

    def _answer(self) -> Answer:
        loopback = self.server.loopback
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.loads(content) if content else None
        with loopback.arrived:
            loopback.asked.append(Asked(self.command, self.path, dict(self.headers), body))
            loopback.arrived.notify_all()
        return loopback.answers.get(self.path, Answer({"detail": "Not Found"}, status=404))

    def _write(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def loopback(answers: dict[str, Answer]) -> Iterator[Loopback]:
    """A running server; hanging answers are let go at the end."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.loopback = Loopback(f"http://127.0.0.1:{server.server_address[1]}", answers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.loopback
    finally:
        for answer in answers.values():
            if answer.hang:
                answer.hang.set()
        server.shutdown()
        thread.join()
        server.server_close()


__all__ = ["Answer", "Asked", "Loopback", "loopback"]
