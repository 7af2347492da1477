"""Long tool conversations through the official openai client, the session server and the real SGLang.

The tiny model is random, so a regex steers it; it spells a tool call in whatever ids the grammar allows, which
are not the ids that a tokenizer would choose.  Those are what must survive.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import msgspec
import openai
import pytest

from tests.assets import qwen3_tokenizer
from tests.engine.conftest import CPU_FLAGS
from tests.engine.environment import CPU_ENV
from tests.server.conftest import running
from titocli.engine.sglang import SglangEngine
from titocli.families.registry import get_family
from titocli.families.renderer import family_renderer
from titocli.server.state import SessionServer
from titocli.session.history import HistoryPolicy
from titocli.tokens.loading import load_tokenizer
from titocli.tokens.tokenizer import Tokenizer

pytestmark = pytest.mark.engine

TURNS = 22
TOOL: Any = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
CALL = r'(I look it up\.\n)?<tool_call>\n\{"name": "get_weather", "arguments": \{"city": "(Paris|Rome|Zürich)"\}\}\n</tool_call>'
ANSWER = r"It is (mild|cold|warm), (ok|fine)\."


@dataclass
class Seen:
    """What the client saw of one turn."""

    prompt_ids: list[int]
    called: bool


@dataclass
class Conversation:
    """A client that plays rounds of tool use, as agents do."""

    base_url: str
    messages: list[Any] = field(default_factory=lambda: [{"role": "user", "content": "Weather in Paris?"}])
    seen: list[Seen] = field(default_factory=list)

    def play(self, turns: int) -> None:
        with openai.OpenAI(base_url=f"{self.base_url}/v1", api_key="none", timeout=120) as client:
            for number in range(turns):
                self._turn(client, number)

    def _turn(self, client: openai.OpenAI, number: int) -> None:
        answering = number % 4 == 3
        steer = {
            "regex": ANSWER if answering else CALL,
            "chat_template_kwargs": {"enable_thinking": False},
            "return_prompt_token_ids": True,
            # A random model ends every other turn with <|endoftext|>, which no render of the turn has.
            "logit_bias": {"151643": -100},
        }
        reply = client.chat.completions.create(
            model="tiny", messages=self.messages, tools=[TOOL], max_tokens=300, extra_body=steer
        )
        choice = reply.choices[0]
        calls = choice.message.tool_calls or []
        self.messages.append(choice.message.model_dump(exclude_none=True))
        self.messages += [
            {"role": "tool", "tool_call_id": call.id, "content": f"{number} degrees, \u00fc\u2028<tool_call>"}
            for call in calls
        ]
        if not calls:
            self.messages.append({"role": "user", "content": f"And elsewhere, {number}?"})
        self.seen.append(Seen((choice.model_extra or {})["prompt_token_ids"], bool(calls)))


def check_ids(conversation: Conversation, shown: Any, tokenizer: Tokenizer) -> None:
    """What the engine read is what the session holds; every turn begins with all of the turn before."""
    records = shown["records"]
    prompts = [record["request"]["input_ids"] for record in records]
    outputs = [record["response"]["output_ids"] for record in records]
    assert len(records) >= 20
    assert [seen.prompt_ids for seen in conversation.seen] == prompts
    for turn in range(1, len(records)):
        before = prompts[turn - 1] + outputs[turn - 1]
        assert prompts[turn][: len(before)] == before
    spelled_otherwise = [ids for ids in outputs if tokenizer.encode(tokenizer.decode(ids)) != ids]
    assert len(spelled_otherwise) >= 15
    assert sum(seen.called for seen in conversation.seen) >= 15
    hard = [m for m in shown["metadata"]["tito_session_mismatch"] if m["type"] != "assistant_text"]
    assert hard == []


@pytest.mark.parametrize("policy", list(HistoryPolicy))
def test_twenty_turns_keep_every_id_and_log_prob(sglang_url: str, policy: HistoryPolicy) -> None:
    tokenizer = load_tokenizer(str(qwen3_tokenizer()))
    engine = SglangEngine(sglang_url, vocab_size=tokenizer.vocab_size)
    raw: list[Any] = []

    async def record(response: httpx.Response) -> None:
        if response.url.path == "/v1/chat/completions":
            raw.append(msgspec.json.decode(await response.aread())["choices"][0])

    engine._http._client.event_hooks["response"].append(record)
    renderer = family_renderer(get_family("qwen3"), tokenizer)
    server = SessionServer(renderer=renderer, engine=engine, policy=policy)
    with running(server) as url, httpx.Client(timeout=60) as http:
        base = http.post(f"{url}/sessions").json()["base_url"]
        conversation = Conversation(base)
        conversation.play(TURNS)
        shown = http.get(base).json()
        (sample,) = http.get(f"{base}/samples").json()["samples"]

    check_ids(conversation, shown, tokenizer)
    said = [entry for choice in raw for entry in choice["meta_info"]["output_token_logprobs"]]
    prompt_length = len(sample["tokens"]) - sample["response_length"]
    trained = [
        (token, log_prob)
        for token, mask, log_prob in zip(
            sample["tokens"][prompt_length:], sample["loss_mask"], sample["rollout_log_probs"], strict=True
        )
        if mask
    ]
    assert trained == [(entry[1], entry[0]) for entry in said]
    assert sample["tokens"] == shown["metadata"]["accumulated_token_ids"]
    assert sample["status"] == "completed"
    # The engine's prefix cache agrees that the history did not change: all but the new ids were cached.
    nodes = shown["metadata"]["tree"]["nodes"]
    usages = [record["response"]["usage"] for record in shown["records"]]
    for node, usage in zip(nodes[1:], usages[1:], strict=True):
        assert usage["prompt_tokens_details"]["cached_tokens"] >= node["reused_tokens"] - 1


@contextmanager
def serve_session(ready: Path, marker: str, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """``titocli serve-session`` that starts the engine itself, once it is ready."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "titocli",
            "serve-session",
            "--ready-file",
            str(ready),
            "--port",
            "0",
            *options,
        ],
        env=os.environ | CPU_ENV | {"TITOCLI_TEST_RUN": marker},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 300
        while not ready.exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.2)
        yield process, json.loads(ready.read_text())["url"]
    finally:
        process.kill()
        process.communicate()


def left_running(marker: str) -> list[int]:
    """Processes that have the marker in their environment: everything that was started under it."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                environment = (folder / "environ").read_bytes()
            except OSError:
                continue
            if marker.encode() in environment:
                found.append(int(folder.name))
    return found


def test_serve_session_starts_the_engine_and_ends_it(
    engine_python: Path, tiny_qwen3_model_dir: Path, tmp_path: Path
) -> None:
    marker = uuid4().hex
    options = ("--family", "qwen3", "--gpus", "1", "--model", str(tiny_qwen3_model_dir))
    engine = ("--python", str(engine_python), "--context-length", "32768", "--mem-fraction-static", "0.1")
    log = ("--log-file", str(tmp_path / "sglang.log"))
    with (
        serve_session(tmp_path / "ready.json", marker, *options, *engine, *log, "--", *CPU_FLAGS) as (
            process,
            url,
        ),
        httpx.Client(timeout=60) as http,
    ):
        conversation = Conversation(http.post(f"{url}/sessions").json()["base_url"])
        conversation.play(TURNS)
        shown = http.get(conversation.base_url).json()
        running_before = left_running(marker)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=90)

    check_ids(conversation, shown, load_tokenizer(str(qwen3_tokenizer())))
    assert len(running_before) >= 3  # titocli, the engine, its scheduler
    assert process.returncode == 0
    assert "Traceback" not in errors
    assert left_running(marker) == []


def test_a_start_that_is_interrupted_leaves_nothing_running(
    engine_python: Path, tiny_qwen3_model_dir: Path, tmp_path: Path
) -> None:
    marker = uuid4().hex
    command = [sys.executable, "-m", "titocli", "serve-session", "--family", "qwen3", "--port", "0"]
    engine = ["--gpus", "1", "--model", str(tiny_qwen3_model_dir), "--python", str(engine_python)]
    process = subprocess.Popen(
        [*command, *engine, "--log-file", str(tmp_path / "log"), "--", *CPU_FLAGS],
        env=os.environ | CPU_ENV | {"TITOCLI_TEST_RUN": marker},
        stderr=subprocess.PIPE,
        text=True,
    )
    while len(left_running(marker)) < 2 or not (tmp_path / "log").exists():
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "Traceback" not in errors
    assert left_running(marker) == []
