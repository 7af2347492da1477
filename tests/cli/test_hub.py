"""Tokenizers from the Hugging Face Hub, played by a small server on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.assets import kimi_checkpoint
from tests.cli.conftest import Outcome, run_process
from titocli.families.chatml import REQUIRED_TOKENS
from titocli.tokens.byte_level import byte_level_tokenizer

COMMIT = "0" * 40
TOKEN = "hf_" + "a" * 34
FILES = {
    "/owner/good/resolve/main/tokenizer.json": byte_level_tokenizer(REQUIRED_TOKENS).definition.encode(),
    "/owner/good/resolve/main/tokenizer_config.json": json.dumps({"chat_template": "hub"}).encode(),
}
#: The repository of a checkpoint that has a rank file for a tokenizer.
RANKS = "/owner/ranks/resolve/main"
#: How the Hub says no: status and X-Error-Code, by repository.
REFUSALS = {
    "good": (404, "EntryNotFound"),
    "ranks": (404, "EntryNotFound"),
    "gated": (403, "GatedRepo"),
    "broken": (400, ""),
}
MISSING = (404, "RepoNotFound")


class Hub(BaseHTTPRequestHandler):
    """Answers as the Hub's file endpoint does."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self.wfile.write(self._answer())

    def _answer(self) -> bytes:
        data = FILES.get(self.path)
        if data is None:
            status, code = REFUSALS.get(self.path.split("/")[2], MISSING)
            self.send_response(status)
            self.send_header("X-Error-Code", code)
            self.send_header("Content-Length", "0")
        else:
            self.send_response(200)
            self.send_header("ETag", f'"{abs(hash(self.path))}"')
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        return data or b""

    def log_message(self, *args: object) -> None:
        """Says nothing."""


@pytest.fixture(scope="module")
def hub() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def render(repository: str, folder: Path, endpoint: str, *argv: str, **environment: str) -> Outcome:
    return run_process(
        *("render", "--family", "qwen3", "--tokenizer", repository, *(argv or ("--format", "ids"))),
        stdin=b"",
        HF_ENDPOINT=endpoint,
        HF_HOME=str(folder / "hub"),
        HF_HUB_DISABLE_XET="1",
        **environment,
    )


def test_a_tokenizer_comes_from_the_hub_and_then_from_its_cache(hub: str, folder: Path) -> None:
    first = render("owner/good", folder, hub)
    offline = render("owner/good", folder, hub, HF_HUB_OFFLINE="1")

    assert first.code == 0, first.err
    assert len(json.loads(first.out)) > 100
    assert (offline.code, offline.out) == (0, first.out)


def test_the_checkpoints_own_template_comes_from_the_hub(hub: str, folder: Path) -> None:
    outcome = render("owner/good", folder, hub, "--against", "hf")

    assert outcome.code == 1
    assert b"-hub\n" in outcome.out


@pytest.mark.parametrize(
    ("repository", "environment", "code", "says"),
    [
        ("owner/nowhere", {}, "unknown_repository", "neither here nor on the Hugging Face Hub"),
        ("owner/gated", {}, "gated_repository", "owner/gated is gated"),
        ("owner/broken", {}, "missing_tokenizer", "hf download owner/broken tokenizer.json"),
        (
            "owner/unseen",
            {"HF_HUB_OFFLINE": "1"},
            "hub_unreachable",
            "the Hugging Face Hub cannot be reached",
        ),
    ],
)
def test_each_way_to_miss_a_tokenizer_has_its_sentence(
    hub: str, folder: Path, repository: str, environment: dict[str, str], code: str, says: str
) -> None:
    outcome = render(repository, folder, hub, **environment, HF_TOKEN=TOKEN)
    error = render(repository, folder, hub, "--json", **environment).document["errors"][0]

    assert outcome.code == 4
    assert outcome.out == b""
    assert says in outcome.err
    assert outcome.err.count("\n") == 2
    assert TOKEN not in outcome.err
    assert (error["code"], error["details"]["repository"]) == (code, repository)


def test_a_repository_without_the_file_is_told_from_one_that_is_missing(hub: str, folder: Path) -> None:
    del_path = "/owner/good/resolve/main/tokenizer.json"
    held = FILES.pop(del_path)
    try:
        outcome = render("owner/good", folder, hub)
    finally:
        FILES[del_path] = held

    assert outcome.code == 4
    assert "owner/good has no tokenizer.json" in outcome.err


@pytest.mark.assets
def test_a_rank_file_comes_from_the_hub_where_there_is_no_tokenizer_file(
    hub: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("tiktoken.model", "tokenizer_config.json"):
        monkeypatch.setitem(FILES, f"{RANKS}/{name}", (kimi_checkpoint() / name).read_bytes())
    environment = {"HF_ENDPOINT": hub, "HF_HOME": str(folder / "hub"), "HF_HUB_DISABLE_XET": "1"}
    argv = ("render", "--family", "kimi26", "--format", "ids", "--tokenizer")
    outcome = run_process(*argv, "owner/ranks", stdin=b"", **environment)

    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)[0] == 163_594
    assert outcome.out == run_process(*argv, str(kimi_checkpoint())).out
