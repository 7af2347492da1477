"""``litellm`` does a tool task, through its OpenAI and its Anthropic side."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.agents.conftest import Serve
from tests.agents.task import FINAL, OPENAI_TOOLS, QUESTION, RESULTS, SCRIPT, assert_one_line

_TASK = Path(__file__).with_name("litellm_task.py")


@pytest.mark.parametrize("mode", ["whole", "stream"])
@pytest.mark.parametrize(("provider", "suffix"), [("openai", "/v1"), ("anthropic", "")])
def test_litellm_does_the_task_in_one_line_of_turns(
    serve: Serve,
    agents_python: str,
    bare_environment: dict[str, str],
    provider: str,
    suffix: str,
    mode: str,
) -> None:
    setup = {"question": QUESTION, "results": RESULTS, "tools": OPENAI_TOOLS}
    # litellm's own table of prices is fetched from the network unless it is told to take the local one.
    variables = bare_environment | {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with serve(SCRIPT, "--history", "tree") as server:
        base_url = server.new_session()
        done = subprocess.run(
            [agents_python, str(_TASK), provider, base_url + suffix, mode],
            input=json.dumps(setup),
            env=variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        shown = server.shown(base_url)

    assert done.returncode == 0, done.stderr[-2000:]
    # litellm prints advice about prices before it.
    assert done.stdout.splitlines()[-1] == FINAL
    assert_one_line(shown)
