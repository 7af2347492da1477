"""A real HTTP server on loopback that answers as it is told and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Answer:
    """A status with a body (objects as JSON, bytes as they are).

    ``hang`` waits for the event first, or after ``pause_at`` bytes; ``cut`` breaks off after so many bytes;
    ``choose`` gives the answer to a body instead.
    """

    body: Any = b""
    status: int = 200
    hang: threading.Event | None = None
    drop: bool = False
    pause_at: int = 0
    cut: int | None = None
    choose: Callable[[Any], Answer] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def encoded(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass
class Asked:
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    header_items: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class Loopback:
    """``answers`` maps a path to an answer; ``asked`` are the requests in order of arrival."""

    answers: dict[str, Answer]
    asked: list[Asked] = field(default_factory=list)
    arrived: threading.Condition = field(default_factory=threading.Condition)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def open(self) -> None:
        self._server = _Server(("127.0.0.1", self.port), _Handler)
        self._server.loopback = self
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

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
        if answer.hang and not answer.pause_at:
            answer.hang.wait(30)
        if answer.drop:
            self.close_connection = True
            return
        try:
            self._write(answer)
        except OSError:  # the client went away, as some tests want
            self.close_connection = True

    def _answer(self) -> Answer:
        loopback = self.server.loopback
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.loads(content) if content else None
        with loopback.arrived:
            loopback.asked.append(
                Asked(self.command, self.path, dict(self.headers), body, self.headers.items())
            )
            loopback.arrived.notify_all()
        answer = loopback.answers.get(self.path, Answer({"detail": "Not Found"}, status=404))
        return answer.choose(body) if answer.choose else answer

    def _write(self, answer: Answer) -> None:
        content = answer.encoded()
        self.send_response_only(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        if self.command == "GET":  # so that a server that is closed keeps no connection
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content[: answer.pause_at])
        self.wfile.flush()
        if answer.hang and answer.pause_at:
            answer.hang.wait(30)
        self.wfile.write(content[answer.pause_at : answer.cut])
        self.close_connection = answer.cut is not None


@contextmanager
def loopback(answers: dict[str, Answer]) -> Iterator[Loopback]:
    """A running server; hanging answers are let go at the end."""
    server = Loopback(answers)
    server.open()
    try:
        yield server
    finally:
        for answer in answers.values():
            if answer.hang:
                answer.hang.set()
        server.close()


__all__ = ["Answer", "Asked", "Loopback", "loopback"]
