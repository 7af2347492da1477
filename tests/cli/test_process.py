"""What only shows in a process of its own: streams, signals, terminals, what gets imported."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import run_process

#: Modules that nobody should wait for.
HEAVY = ("transformers", "torch", "sglang", "starlette", "uvicorn", "httpx", "numpy", "pydantic_settings")
TEMPLATES = ("jinja2", "tokenizers")
RENDER = ("render", "chat.json", "--family", "qwen3", "--tokenizer", "Qwen3", "--format", "ids")


def modules_after(*argv: str) -> set[str]:
    """The modules that are loaded when a command line is done."""
    program = (
        "import sys, json; from titocli.__main__ import main; code = main(sys.argv[1:]); "
        "sys.stderr.write(json.dumps([code, sorted(sys.modules)]))"
    )
    done = subprocess.run([sys.executable, "-c", program, *argv], capture_output=True, check=True, timeout=60)
    code, names = json.loads(done.stderr.decode().splitlines()[-1])
    assert code == 0
    return set(names)


def test_the_version_alone_loads_neither_typer_nor_rich() -> None:
    assert modules_after("--version") & {"typer", "rich", "click", "jinja2", "titocli.cli"} == set()


@pytest.mark.parametrize("argv", [("--help",), ("render", "--help"), ("families", "--help")])
def test_help_loads_nothing_heavy(argv: tuple[str, ...]) -> None:
    assert modules_after(*argv) & {*HEAVY, *TEMPLATES} == set()


def test_families_load_no_template_engine() -> None:
    assert modules_after("families", "--json") & {*HEAVY, *TEMPLATES} == set()


def test_a_render_with_a_local_tokenizer_loads_nothing_heavy() -> None:
    loaded = modules_after(*RENDER)

    assert loaded & {*HEAVY, "rich"} == set()
    assert {*TEMPLATES} <= loaded


def test_the_version_is_one_line() -> None:
    outcome = run_process("--version")

    assert (outcome.code, outcome.out, outcome.err) == (0, b"titocli 0.1.0\n", "")


def test_without_a_command_the_help_is_shown_and_the_exit_code_is_2() -> None:
    outcome = run_process()

    assert (outcome.code, outcome.err) == (2, "")
    assert b"Usage: titocli" in outcome.out


def test_standard_output_has_the_bytes_and_standard_error_the_rest() -> None:
    outcome = run_process("render", "--family", "qwen3", "--kwarg", "typo=1", PYTHONIOENCODING="ascii")

    assert outcome.code == 0
    assert "18 °C".encode() in outcome.out
    assert outcome.err.startswith("warning: ")


def test_exit_codes_reach_the_shell() -> None:
    assert run_process("render", "--family", "nope").code == 2
    assert run_process("render", "nowhere.json", "--family", "qwen3").code == 3
    assert run_process("render", "--family", "qwen3", "--format", "ids").code == 4


def test_a_reader_that_stops_early_is_no_error(folder: Path) -> None:
    messages = [{"role": "user", "content": "x" * 3_000_000}]
    (folder / "long.json").write_text(json.dumps(messages))
    writer = subprocess.Popen(
        [sys.executable, "-m", "titocli", "render", "long.json", "--family", "qwen3"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert writer.stdout is not None
    assert writer.stderr is not None
    writer.stdout.read(10)
    writer.stdout.close()

    assert writer.stderr.read() == b""
    writer.stderr.close()
    assert writer.wait(timeout=60) == 0


def test_an_interrupt_ends_with_130() -> None:
    reader = subprocess.Popen(
        [sys.executable, "-m", "titocli", "-v", "render", "-", "--family", "qwen3"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert reader.stderr is not None
    assert b"template qwen3.jinja" in reader.stderr.readline()
    # It waits for standard input now.
    reader.send_signal(signal.SIGINT)
    out, err = reader.communicate(timeout=60)

    assert (reader.returncode, out) == (130, b"")
    assert b"Traceback" not in err


COMMANDS = (
    "--version",
    "render --help",
    "render --family qwen3",
    "families",
    "families --json",
    "verify-template qwen3 --select sandbox --examples 0 --save off",
)


def redirected(command: str, redirection: str) -> tuple[int, bytes, bytes]:
    """Exit code, standard output and standard error of a command line with redirections of the shell."""
    done = subprocess.run(
        ["sh", "-c", f"{shlex.quote(sys.executable)} -m titocli {command} {redirection}"],
        capture_output=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("redirection", "said"),
    [(">/dev/full", b"No space left on device"), (">&-", b"standard output is closed")],
)
def test_output_without_room_or_taker_is_one_sentence(command: str, redirection: str, said: bytes) -> None:
    code, out, err = redirected(command, redirection)

    assert (code, out) == (3, b"")
    assert re.fullmatch(rb"error: cannot write: [^\n]*" + said + rb"\nhint: [^\n]+\n", err)
    assert redirected(command, f"{redirection} 2>/dev/full") == (3, b"", b"")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("redirection", ["2>/dev/full", "2>&-"])
def test_a_result_is_there_also_where_nothing_can_be_said(command: str, redirection: str) -> None:
    code, out, _ = redirected(command, redirection)

    assert code == 0
    assert out


def on_terminal(*argv: str) -> tuple[int, bytes]:
    """Runs a command line with a terminal as standard input and output."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "titocli", *argv],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm", "NO_COLOR": ""},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    return process.wait(timeout=60), shown


def test_a_terminal_in_place_of_input_gets_help() -> None:
    code, shown = on_terminal("render", "-", "--family", "qwen3")

    assert code == 2
    assert b"Usage: " in shown


def test_a_terminal_gets_the_table_in_colour() -> None:
    code, shown = on_terminal("render", "chat.json", "--family", "qwen3")

    assert code == 0
    assert b"(prompt)" in shown
    assert b"\x1b[36m<|im_start|>" in shown


def test_the_shell_completes_family_names() -> None:
    outcome = run_process(
        _TITOCLI_COMPLETE="complete_bash", COMP_WORDS="titocli render --family qwen3", COMP_CWORD="3"
    )

    assert outcome.out.decode().split() == ["qwen3", "qwen35", "qwen36", "qwen38small"]
