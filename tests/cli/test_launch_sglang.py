"""``titocli launch-sglang``: what it would run, and what stops it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from titocli.cli import launch_sglang


def flags(out: bytes) -> list[str]:
    return shlex.split(out.decode())


def test_a_dry_run_prints_one_command_with_the_familys_parsers(run: Run) -> None:
    done = run(
        "launch-sglang", "Qwen/Qwen3-8B", "--family", "qwen3", "--python", "/engine/python", "--dry-run"
    )

    assert done.code == 0
    assert flags(done.out) == [
        *("/engine/python", "-m", "sglang.launch_server", "--model-path", "Qwen/Qwen3-8B"),
        *(
            "--host",
            "127.0.0.1",
            "--port",
            "30000",
            "--reasoning-parser",
            "qwen3",
            "--tool-call-parser",
            "qwen",
        ),
    ]
    assert done.out.count(b"\n") == 1


def test_optional_flags_stand_there_only_when_given(run: Run) -> None:
    given = ("--kv-cache-dtype", "fp8_e4m3", "--mamba-full-memory-ratio", "0.5", "--context-length", "4096")
    more = ("--mem-fraction-static", "0.8", "--gpus", "4", "--dp", "2")
    command = flags(run("launch-sglang", "M", "--family", "qwen4exp", "--dry-run", *given, *more).out)

    for flag, value in zip(given[::2], given[1::2], strict=True):
        assert command[command.index(flag) + 1] == value
    assert command[command.index("--tp-size") + 1] == "2"
    assert command[command.index("--dp-size") + 1] == "2"
    assert command[command.index("--tool-call-parser") + 1] == "qwen3_coder"


def test_json_has_argv_and_env(run: Run) -> None:
    document = run("launch-sglang", "a b", "--family", "qwen3", "--dry-run", "--json").document

    assert document["schema"] == "titocli/launch-sglang/1"
    assert document["data"]["argv"][:5] == [
        sys.executable,
        "-m",
        "sglang.launch_server",
        "--model-path",
        "a b",
    ]
    assert document["data"]["env"] == {}


def test_a_conflicting_parser_is_refused_by_name(run: Run) -> None:
    done = run(
        "launch-sglang", "M", "--family", "qwen3", "--dry-run", "--", "--tool-call-parser", "qwen3_coder"
    )

    assert done.code == 2
    assert all(part in done.err for part in ("qwen3", "--tool-call-parser", "qwen3_coder", "hint: "))
    assert done.out == b""


def test_arguments_after_the_dashes_are_passed_on(run: Run) -> None:
    done = run(
        "launch-sglang", "M", "--family", "qwen3", "--dry-run", "--", "--device", "cpu", "--enable-metrics"
    )

    assert flags(done.out)[-3:] == ["--device", "cpu", "--enable-metrics"]


def test_a_python_without_sglang_is_told_how_to_get_it(run: Run, folder: Path) -> None:
    done = run("launch-sglang", "M", "--family", "qwen3", "--port", "0", "--log-file", str(folder / "log"))

    assert done.code == 4
    assert "has no sglang" in done.err
    assert "--python" in done.err


def test_a_python_that_is_not_there_is_told(run: Run, folder: Path) -> None:
    done = run("launch-sglang", "M", "--family", "qwen3", "--port", "0", "--python", "/no/python")

    assert done.code == 4
    assert "/no/python" in done.err


@pytest.mark.parametrize(
    "example", [e for e in launch_sglang.EXAMPLES.strip().splitlines() if "--dry-run" in e]
)
def test_the_dry_run_examples_run(run: Run, example: str) -> None:
    done = run(*shlex.split(example.partition("  # ")[0])[1:])

    assert done.code == 0
    assert b"sglang.launch_server" in done.out
