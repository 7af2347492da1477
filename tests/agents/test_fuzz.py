"""Requests made from the OpenAPI description, and broken ones: no 5xx, every error with a code.

2,000 requests here; ``TITOCLI_REQUESTS=20000`` asks for more.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.agents.conftest import Serve, answer

REQUESTS = int(os.environ.get("TITOCLI_REQUESTS", "2000"))
_FUZZ = Path(__file__).with_name("fuzz.py")


def test_no_request_brings_an_unexpected_answer(serve: Serve, agents_python: str) -> None:
    with serve([answer("fine", thinking="so")] * 2000, "--history", "tree") as server:
        done = subprocess.run(
            [agents_python, str(_FUZZ), server.url, str(REQUESTS), "1"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60 + REQUESTS,
        )
        alive = server.new_session()

    assert done.returncode == 0, done.stderr[-2000:]
    summary = json.loads(done.stdout)
    assert summary["unexpected"] == []
    assert summary["requests"] >= REQUESTS
    # Every kind of answer was met, or the requests test nothing.
    assert {"200", "204", "400", "404", "410"} <= summary["statuses"].keys()
    assert summary["statuses"]["200"] > REQUESTS // 20
    assert alive
