"""An engine as a child process: started, waited for, stopped with everything that it started.

The child leads a session of its own, so Ctrl-C reaches titocli alone, which then stops the engine in order.
A titocli that is killed with SIGKILL cannot stop anything: the engine goes on, and has to be stopped by hand.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from titocli.errors import ConflictingOption, EngineTimeout, EngineUnreachable, MissingExtra, UnwritableFile
from titocli.jsonvalue import JsonObject
from titocli.launch.command import LaunchCommand

_POLL_SECONDS = 0.25
_POLL_TIMEOUT_SECONDS = 5.0
_GRACE_SECONDS = 30.0
_LOG_LINES, _LOG_LINE_CHARS, _LOG_TAIL_BYTES = 20, 500, 64 * 1024
_FIND_SGLANG = "import importlib.util, sys; sys.exit(importlib.util.find_spec('sglang') is None)"
_ANY_ADDRESS: Mapping[str, str] = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - not bound


class EngineProcess:
    """A started engine; as a context manager it is stopped at the end."""

    def __init__(self, child: subprocess.Popen[bytes], *, url: str, log_path: Path) -> None:
        self._child = child
        self._group_is_ours = True
        self.url = url
        self.log_path = log_path

    @property
    def pid(self) -> int:
        """The process id of the child, which leads its group."""
        return self._child.pid

    def exit_code(self) -> int | None:
        """The child's exit code, or None while it runs."""
        return self._child.poll()

    def wait_until_ready(self, timeout_seconds: float) -> None:
        """Return once the engine accepts requests.

        Asks ``/ready`` (``/health`` would generate a token), or ``/model_info`` where an older SGLang has
        none.
        Raises ``EngineUnreachable`` when the child ends, ``EngineTimeout`` when it is not ready in time.
        """
        deadline = time.monotonic() + timeout_seconds
        with httpx.Client(base_url=self.url, timeout=_POLL_TIMEOUT_SECONDS, trust_env=False) as client:
            while not _is_ready(client):
                self.require_running()
                if time.monotonic() > deadline:
                    raise EngineTimeout(
                        f"the engine was not ready after {timeout_seconds:g} s",
                        hint=f"look into {self.log_path}, or wait longer with --wait",
                        details=self._log_details(),
                    )
                time.sleep(_POLL_SECONDS)

    def stop(self, grace_seconds: float = _GRACE_SECONDS) -> int:
        """SIGTERM to the child, SIGKILL to its whole group after the grace; the child's exit code.

        The group is killed also when the child ended in time: nothing that it started stays behind.
        Safe to call twice.
        """
        if self._child.returncode is None:
            self._child.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(grace_seconds)
        self._kill_group()
        return self._child.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _kill_group(self) -> None:
        """Once: later the number may belong to others."""
        if self._group_is_ours:
            self._group_is_ours = False
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._child.pid, signal.SIGKILL)

    def require_running(self) -> None:
        """Raise ``EngineUnreachable`` when the child has ended, with its last words."""
        exit_code = self._child.poll()
        if exit_code is None:
            return
        self._kill_group()
        raise EngineUnreachable(
            f"the engine ended with exit code {exit_code}",
            hint=f"its last words are in details.log and in {self.log_path}",
            details={"exit_code": exit_code, **self._log_details()},
        )

    def wait(self) -> None:
        """Return when the child ends well; raise ``EngineUnreachable`` when it ends otherwise."""
        if self._child.wait():
            self.require_running()

    def _log_details(self) -> JsonObject:
        return {"log_path": str(self.log_path), "log": last_lines(self.log_path)}


def start_engine(command: LaunchCommand, *, url: str, log_path: Path) -> EngineProcess:
    """Start a command in the background; its output goes to ``log_path``, which is written anew.

    Raises ``MissingExtra`` when its program does not exist.
    """
    try:
        log_path.parent.mkdir(parents=True, exist_ok=True)
        log = log_path.open("wb")
    except OSError as error:
        raise UnwritableFile(
            f"the log file cannot be written: {error.strerror}",
            hint="choose another --log-file",
            details={"path": str(log_path)},
        ) from error
    with log:
        try:
            child = subprocess.Popen(  # noqa: S603 - the command is the user's own
                command.argv,
                env={**os.environ, **command.env},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise _no_program(command.argv[0]) from error
    return EngineProcess(child, url=url, log_path=log_path)


def require_sglang(python: str, env: Mapping[str, str]) -> None:
    """Raise ``MissingExtra`` unless that Python can import sglang (which is looked for, not imported)."""
    try:
        found = subprocess.run(  # noqa: S603 - the interpreter is the user's own
            [python, "-c", _FIND_SGLANG], env={**os.environ, **env}, capture_output=True, check=False
        )
    except OSError as error:
        raise _no_program(python) from error
    if found.returncode:
        raise MissingExtra(
            f"{python} has no sglang",
            hint="SGLang pins its own torch: install it into an environment of its own "
            "(python -m venv DIR && DIR/bin/pip install sglang) and give --python DIR/bin/python",
            details={"python": python},
        )


def _no_program(program: str) -> MissingExtra:
    return MissingExtra(
        f"there is no program {program}",
        hint="give --python the path of a Python that has sglang",
        details={"python": program},
    )


def claim_port(host: str, port: int) -> int:
    """The port if it is free, or a free one for 0; raises ``ConflictingOption`` when it is taken.

    Nothing holds the port until the engine listens on it.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            raise ConflictingOption(
                f"the engine could not listen on {host}:{port}: {error.strerror}",
                hint="choose another --port, or 0 for a free one",
                details={"host": host, "port": port},
            ) from error
        bound: int = listener.getsockname()[1]
    return bound


def local_url(host: str, port: int) -> str:
    """Where this machine reaches a server that listens on ``host``."""
    reached = _ANY_ADDRESS.get(host, host)
    return f"http://[{reached}]:{port}" if ":" in reached else f"http://{reached}:{port}"


def last_lines(path: Path) -> list[str]:
    """The end of a log, long lines cut; empty when it cannot be read."""
    try:
        with path.open("rb") as log:
            log.seek(max(0, path.stat().st_size - _LOG_TAIL_BYTES))
            lines = log.read().decode(errors="replace").splitlines()
    except OSError:
        return []
    return [line[:_LOG_LINE_CHARS] for line in lines[-_LOG_LINES:]]


def _is_ready(client: httpx.Client) -> bool:
    try:
        status = client.get("/ready").status_code
        if status == httpx.codes.NOT_FOUND:
            status = client.get("/model_info").status_code
    except httpx.TransportError:
        return False
    # With --api-key /model_info answers 401: the server is up.
    return status in (httpx.codes.OK, httpx.codes.UNAUTHORIZED)


__all__ = ["EngineProcess", "claim_port", "last_lines", "local_url", "require_sglang", "start_engine"]
