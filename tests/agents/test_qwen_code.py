"""qwen-code, a coding agent on Node, does a task of several turns against a session.

It streams, keeps its own history and sends it back whole, in OpenAI's format and in Anthropic's.  In OpenAI's it
spells the arguments of its calls anew, so that the strict matcher would open a new root every turn.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.agents.conftest import Serve, answer, call
from tests.agents.task import assert_one_line

FORMATS = {
    "openai": {"suffix": "/v1", "variable": "OPENAI", "matcher": "loose_tool_call"},
    "anthropic": {"suffix": "", "variable": "ANTHROPIC", "matcher": "strict"},
}


@pytest.mark.parametrize("history", ["linear", "tree"])
@pytest.mark.parametrize("wire_format", list(FORMATS))
def test_qwen_code_writes_and_reads_a_file_in_one_line_of_turns(
    serve: Serve,
    qwen_code: list[str],
    bare_environment: dict[str, str],
    tmp_path: Path,
    wire_format: str,
    history: str,
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    note = str(work / "note.txt")
    script = [
        call(
            "edit",
            {"file_path": note, "old_string": "", "new_string": "forty-two\n"},
            thinking="write it first",
        ),
        call("read_file", {"file_path": note}, thinking="then look at it"),
        answer("The note says forty-two.", thinking="done"),
    ]
    matcher = FORMATS[wire_format]["matcher"]
    with serve(script, "--history", history, "--message-matcher", matcher) as server:
        base_url = server.new_session()
        variables = _connection(wire_format, base_url)
        command = [*qwen_code, "--bare", "--yolo", "--auth-type", wire_format, "-m", "titocli"]
        done = subprocess.run(
            [*command, "-p", "Write forty-two into note.txt and read it back."],
            env=bare_environment | variables,
            cwd=work,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        shown = server.shown(base_url)

    assert done.returncode == 0, done.stderr[-2000:]
    assert "The note says forty-two." in done.stdout
    assert Path(note).read_text() == "forty-two\n"
    assert_one_line(shown)


def _connection(wire_format: str, base_url: str) -> dict[str, str]:
    used = FORMATS[wire_format]
    name = used["variable"]
    return {
        f"{name}_BASE_URL": base_url + used["suffix"],
        f"{name}_API_KEY": "none",
        f"{name}_MODEL": "titocli",
    }
