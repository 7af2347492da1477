"""Engines as child processes, played by small Python programs."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from titocli.errors import ConflictingOption, EngineTimeout, EngineUnreachable, MissingExtra, UnwritableFile
from titocli.launch.command import LaunchCommand
from titocli.launch.process import (
    EngineProcess,
    claim_port,
    last_lines,
    local_url,
    require_sglang,
    start_engine,
)

CHILDREN = Path(__file__).parent / "children"


def start(folder: Path, script: str, *arguments: object, port: int = 1) -> EngineProcess:
    argv = (sys.executable, str(CHILDREN / script), *map(str, arguments))
    return start_engine(
        LaunchCommand(argv=argv), url=local_url("127.0.0.1", port), log_path=folder / "logs" / "engine.log"
    )


def start_server(folder: Path, *statuses: str, delay_seconds: float = 0.0) -> EngineProcess:
    port = claim_port("127.0.0.1", 0)
    return start(folder, "server.py", port, delay_seconds, *statuses, port=port)


def is_running(pid: int) -> bool:
    """Whether the process exists and is not a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def read_pid(path: Path) -> int:
    deadline = time.monotonic() + 10
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return int(path.read_text())


def ends(pid: int, within_seconds: float = 5.0) -> bool:
    deadline = time.monotonic() + within_seconds
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_running(pid)


def test_a_server_is_waited_for_and_stopped(tmp_path: Path) -> None:
    with start_server(tmp_path, "/ready=200", delay_seconds=0.6) as engine:
        engine.wait_until_ready(20)
        assert engine.exit_code() is None
        assert is_running(engine.pid)
    assert engine.exit_code() == -signal.SIGTERM
    assert not is_running(engine.pid)
    assert engine.stop() == -signal.SIGTERM


@pytest.mark.parametrize("status", [200, 401])
def test_a_server_without_ready_is_asked_for_its_model(tmp_path: Path, status: int) -> None:
    with start_server(tmp_path, f"/model_info={status}") as engine:
        engine.wait_until_ready(20)
        assert is_running(engine.pid)


def test_a_server_that_says_503_is_not_ready(tmp_path: Path) -> None:
    with start_server(tmp_path, "/ready=503", "/model_info=200") as engine:
        with pytest.raises(EngineTimeout) as caught:
            engine.wait_until_ready(1.5)
        assert caught.value.details["log_path"] == str(tmp_path / "logs" / "engine.log")
        log: Any = caught.value.details["log"]
        assert any("/ready" in line for line in log)


def test_a_child_that_ends_early_is_told_at_once_with_its_last_words(tmp_path: Path) -> None:
    engine = start(tmp_path, "dies.py", tmp_path / "pid")
    started = time.monotonic()
    with pytest.raises(EngineUnreachable) as caught:
        engine.wait_until_ready(60)
    assert time.monotonic() - started < 20
    assert "exit code 7" in caught.value.message
    assert caught.value.details["exit_code"] == 7
    log: Any = caught.value.details["log"]
    first, last = log
    assert first == "loading weights"
    assert last.startswith("CUDA out of memory xxx")
    assert len(last) == 500
    assert ends(read_pid(tmp_path / "pid")), "what the dead child started still runs"
    assert engine.stop() == 7


def test_stopping_a_child_that_ended_on_its_own_takes_what_it_left(tmp_path: Path) -> None:
    engine = start(tmp_path, "dies.py", tmp_path / "pid")
    left = read_pid(tmp_path / "pid")
    while engine.exit_code() is None:
        time.sleep(0.02)
    assert is_running(left)
    assert engine.stop() == 7
    assert ends(left)


def test_a_child_that_ignores_sigterm_is_killed_with_its_children(tmp_path: Path) -> None:
    engine = start(tmp_path, "stubborn.py", tmp_path / "pid")
    grandchild = read_pid(tmp_path / "pid")
    assert is_running(grandchild)
    assert engine.stop(grace_seconds=0.3) == -signal.SIGKILL
    assert ends(engine.pid)
    assert ends(grandchild)


def test_the_child_leads_a_session_of_its_own(tmp_path: Path) -> None:
    with start_server(tmp_path) as engine:
        assert os.getsid(engine.pid) == os.getpgid(engine.pid) == engine.pid != os.getsid(0)


def test_the_environment_is_added_to_titoclis_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TITOCLI_OWN", "a")
    code = "import os; print(os.environ['TITOCLI_OWN'] + os.environ['ADDED'])"
    command = LaunchCommand(argv=(sys.executable, "-c", code), env={"ADDED": "b"})
    engine = start_engine(command, url="http://127.0.0.1:1", log_path=tmp_path / "log")
    assert engine.stop(grace_seconds=20) in (0, -signal.SIGTERM)
    again = start_engine(command, url="http://127.0.0.1:1", log_path=tmp_path / "log")
    with pytest.raises(EngineUnreachable) as caught:
        again.wait_until_ready(20)
    assert caught.value.details["log"] == ["ab"]


def test_a_program_that_does_not_exist_is_missing(tmp_path: Path) -> None:
    command = LaunchCommand(argv=(str(tmp_path / "python"),))
    with pytest.raises(MissingExtra) as caught:
        start_engine(command, url="http://127.0.0.1:1", log_path=tmp_path / "log")
    assert caught.value.exit_code == 4
    with pytest.raises(MissingExtra):
        require_sglang(command.argv[0], {})


def test_a_log_file_that_cannot_be_written_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(UnwritableFile):
        start_engine(LaunchCommand(argv=(sys.executable,)), url="", log_path=tmp_path)


def test_sglang_is_looked_for_without_importing_it(tmp_path: Path) -> None:
    with pytest.raises(MissingExtra, match="no sglang") as caught:
        require_sglang(sys.executable, {"PYTHONPATH": str(tmp_path)})
    assert "--python" in (caught.value.hint or "")
    (tmp_path / "sglang.py").write_text("raise RuntimeError('imported')")
    require_sglang(sys.executable, {"PYTHONPATH": str(tmp_path)})


def test_port_0_is_a_free_port_and_a_taken_port_conflicts() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        taken = listener.getsockname()[1]
        with pytest.raises(ConflictingOption) as caught:
            claim_port("127.0.0.1", taken)
        assert caught.value.details == {"host": "127.0.0.1", "port": taken}
        free = claim_port("127.0.0.1", 0)
        assert free not in (0, taken)
    assert claim_port("127.0.0.1", free) == free


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),  # noqa: S104 - only a name here
        ("::", "http://[::1]:80"),
        ("node7", "http://node7:80"),
    ],
)
def test_a_wildcard_address_is_reached_over_loopback(host: str, url: str) -> None:
    assert local_url(host, 80) == url


def test_the_end_of_a_long_log_is_short(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"\xff first\n" + b"".join(b"line %d\n" % number for number in range(50_000)))
    assert last_lines(log) == [f"line {number}" for number in range(49_980, 50_000)]
    assert last_lines(tmp_path / "none") == []
