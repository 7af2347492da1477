"""``serve-session --family auto``."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.cli.checkpoints import checkpoint, native_text
from tests.serve.test_serve_session import served


@pytest.mark.assets
def test_a_server_takes_its_family_from_the_checkpoint_and_says_so(tmp_path: Path) -> None:
    checkpoint(tmp_path / "ckpt", "glm47", native_text("glm5.2"))
    options = ("--family", "auto", "--tokenizer", str(tmp_path / "ckpt"))
    with served(tmp_path / "ready.json", *options) as (process, url):
        session = httpx.post(f"{url}/sessions").json()
        body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
        reply = httpx.post(f"{session['base_url']}/v1/chat/completions", json=body, timeout=60)
        assert reply.status_code == 200, reply.text
        process.terminate()
        _, said = process.communicate(timeout=30)
    assert "is of family glm47 (variant 5.2): its chat template (sha256 172dc74a35e1…)" in said
