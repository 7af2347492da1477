"""Known hazards of session servers that no other test pins; docs/hazards.md lists all of them."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE
from typing import Any

import httpx
import pytest

from tests.server.conftest import ScriptedEngine, plain_answer, running, serve_family
from titocli.families.chat_template import compile_template
from titocli.families.family import Family
from titocli.families.renderer import Renderer
from titocli.families.template_source import TemplateSource
from titocli.server.state import SessionServer
from titocli.session.history import HistoryPolicy
from titocli.tokens.byte_level import byte_level_tokenizer

ROOT = Path(__file__).parents[2]
U: Any = {"role": "user", "content": "What is 1+2?"}
A: Any = {"role": "assistant", "content": "fine"}
SECRET = "a prompt that no error repeats"
#: Prints a turn, unless a message asks for trouble.
TROUBLED = (
    "{% for m in messages %}{% if m.content == 'raise' %}{{ raise_exception('no') }}"
    "{% elif m.content == 'break' %}{{ m.nothing.at.all }}"
    "{% elif m.content == 'loop' %}{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}"
    "{% endfor %}{% endif %}<s>{{ m.role }}:{{ m.content }}<e>{% endfor %}"
    "{% if messages[-1].content == 'rewrite' %}!{% endif %}"
    "{% if add_generation_prompt %}<s>assistant{% endif %}"
)


@pytest.fixture(params=list(HistoryPolicy))
def troubled(request: pytest.FixtureRequest) -> Iterator[httpx.Client]:
    """A server whose template fails when a message says so."""
    template = compile_template(TemplateSource("troubled", TROUBLED))
    family = Family(name="toy", summary="", assistant_start="<s>assistant", required_tokens=("<s>", "<e>"))
    own = Renderer(family, template, byte_level_tokenizer(["<s>", "<e>"]))
    engine = ScriptedEngine(answer=lambda request: plain_answer(request, "fine"))
    server = SessionServer(renderer=own, engine=engine, policy=request.param)
    with running(server) as url, httpx.Client(base_url=url, timeout=60) as http:
        made = http.post("/sessions").json()["session_id"]
        with httpx.Client(base_url=f"{url}/sessions/{made}", timeout=60) as session:
            yield session


def shown(session: httpx.Client) -> Any:
    return session.get(str(session.base_url).rstrip("/")).json()


@pytest.mark.hazard(9)
@pytest.mark.parametrize(
    ("word", "code"),
    [("raise", "template_raised"), ("break", "template_raised"), ("loop", "template_unbounded")],
)
@pytest.mark.parametrize("history", [[], [U, A]])
def test_a_template_that_fails_is_a_bad_request_with_a_code(
    troubled: httpx.Client, word: str, code: str, history: list[Any]
) -> None:
    if history:
        assert troubled.post("/v1/chat/completions", json={"messages": [U]}).status_code == 200
    before = shown(troubled)
    spoilt = [*history, {"role": "user", "content": SECRET}, {"role": "user", "content": word}]
    for path in ("/v1/chat/completions", "/v1/messages"):
        refused = troubled.post(path, json={"messages": spoilt, "max_tokens": 9})
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, code)
        assert SECRET not in refused.text

    assert shown(troubled) == before
    extended = troubled.post("/v1/chat/completions", json={"messages": [*history, U]})
    assert extended.status_code == 200
    assert len(shown(troubled)["records"]) == len(before["records"]) + 1


SLOW_START = """
import asyncio
from tests.server.conftest import ScriptedEngine, serve_family
from titocli.server.serve import base_url, bind, serve
from titocli.session.history import HistoryPolicy

class Slow(ScriptedEngine):
    async def start(self):
        await asyncio.sleep(2)

listener = bind("127.0.0.1", 0)
print(base_url(listener), flush=True)
server = serve_family(Slow(), "qwen3", HistoryPolicy.TREE)
serve(server, listener, on_ready=lambda: print("ready", flush=True))
"""


@pytest.mark.hazard(17)
def test_an_open_port_is_not_called_ready_and_a_ready_server_answers_every_route() -> None:
    with subprocess.Popen([sys.executable, "-c", SLOW_START], cwd=ROOT, stdout=PIPE, text=True) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        with httpx.Client(base_url=url, timeout=60) as http:
            with pytest.raises(httpx.ReadTimeout):  # connected, and nothing answers yet
                http.get("/ready", timeout=0.2)
            assert server.stdout.readline() == "ready\n"
            answers = [http.get("/ready"), http.get("/health"), http.post("/sessions")]
            session = answers[-1].json()["session_id"]
            base, asked = f"/sessions/{session}", {"messages": [U], "max_tokens": 9}
            paths = ("v1/chat/completions", "v1/messages", "v1/messages/count_tokens")
            answers += [http.post(f"{base}/{path}", json=asked) for path in paths]
            answers.append(http.post(f"{base}/samples"))
        server.send_signal(signal.SIGTERM)

    assert {answer.status_code for answer in answers} == {200}
    assert server.returncode == 0


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine()


@pytest.mark.hazard(18)
def test_no_text_of_titocli_advises_to_kill_processes() -> None:
    advice = re.compile(r"pkill|killall|kill -9|kill all|taskkill", re.IGNORECASE)
    texts = [*ROOT.glob("titocli/**/*.py"), *ROOT.glob("docs/*.md"), ROOT / "README.md"]

    assert len(texts) > 100
    assert [path.name for path in texts if advice.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.hazard(21)
def test_tools_reach_prompt_and_engine_as_the_client_wrote_them(engine: ScriptedEngine) -> None:
    function = {"name": "f", "parameters": {"type": "object", "b": 1, "a": [2]}}
    tools = [{"type": "function", "function": function}]
    with (
        running(serve_family(engine, "qwen3", HistoryPolicy.TREE)) as url,
        httpx.Client(base_url=url) as http,
    ):
        session = http.post("/sessions").json()["session_id"]
        asked = {"messages": [U], "tools": tools}
        assert http.post(f"/sessions/{session}/v1/chat/completions", json=asked).status_code == 200
        record = http.get(f"/sessions/{session}").json()["records"][0]["request"]
        shown = engine.requests[0]

    assert list(shown.tools) == record["tools"] == tools
    tokenizer = serve_family(engine, "qwen3", HistoryPolicy.TREE).renderer.tokenizer
    prompt = tokenizer.decode(shown.prompt_ids)
    # No key is added, dropped or moved: ``strict`` and an empty description are what other servers add.
    assert '{"name": "f", "parameters": {"type": "object", "b": 1, "a": [2]}}' in prompt
    assert "strict" not in prompt
