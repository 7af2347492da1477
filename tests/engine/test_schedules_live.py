"""The verification schedules of a session, in both wire formats, against the real SGLang."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import anthropic
import httpx
import msgspec
import openai
import pytest

from tests.assets import qwen3_tokenizer
from tests.engine.schedules import Action, Agent, schedule
from tests.engine.test_conversation_live import ANSWER, CALL
from tests.engine.test_messages_live import TOOL, SteeredEngine
from tests.server.conftest import running
from titocli.engine.sglang import SglangEngine
from titocli.families.registry import get_family
from titocli.families.renderer import family_renderer
from titocli.server.state import SessionServer
from titocli.session.generation import GenerateRequest
from titocli.session.history import HistoryPolicy
from titocli.tokens.loading import load_tokenizer

pytestmark = pytest.mark.engine

CYCLES = 3
#: What a tool answers: text, blocks, an apology.
RESULTS: tuple[Any, ...] = (
    "7 degrees, ü\u2028<tool_call>",
    [{"type": "text", "text": "9 degrees"}, {"type": "text", "text": ", windy"}],
    "The weather service is temporarily unavailable.",
)


def noted(engine: SglangEngine) -> list[list[int]]:
    """The prompt ids of every request that leaves the adapter, read from the bytes on the wire."""
    sent: list[list[int]] = []

    async def note(request: httpx.Request) -> None:
        if request.url.path == "/v1/chat/completions":
            sent.append(msgspec.json.decode(request.content)["input_ids"])

    engine._http._client.event_hooks["request"].append(note)
    return sent


@contextmanager
def served(engine: SglangEngine, policy: HistoryPolicy) -> Iterator[tuple[httpx.Client, str]]:
    """A client and the URL of a session."""
    tokenizer = load_tokenizer(str(qwen3_tokenizer()))
    renderer = family_renderer(get_family("qwen3"), tokenizer)
    server = SessionServer(renderer=renderer, engine=engine, policy=policy)
    with running(server) as url, httpx.Client(timeout=60) as http:
        yield http, http.post(f"{url}/sessions").json()["base_url"]


def hard(metadata: Any) -> list[Any]:
    return [miss for miss in metadata["tito_session_mismatch"] if miss["type"] != "assistant_text"]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("policy", list(HistoryPolicy))
def test_the_openai_schedule_keeps_every_id(sglang_url: str, policy: HistoryPolicy, streamed: bool) -> None:
    tokenizer = load_tokenizer(str(qwen3_tokenizer()))
    engine = SglangEngine(sglang_url, vocab_size=tokenizer.vocab_size)
    sent, spelled_otherwise = noted(engine), 0
    stored: list[list[int]] = []
    with served(engine, policy) as (http, base):

        def after(parent: int | None, read: list[int]) -> None:
            nonlocal spelled_otherwise
            shown = http.get(base).json()
            record, node = shown["records"][-1], shown["metadata"]["tree"]["nodes"][-1]
            prompt, output = record["request"]["input_ids"], record["response"]["output_ids"]
            assert sent[-1] == read == prompt
            assert node["parent"] == parent
            kept = [] if parent is None else stored[parent]
            assert prompt[: len(kept)] == kept
            assert hard(shown["metadata"]) == []
            stored.append(prompt + output)
            assert shown["metadata"]["accumulated_token_ids"] == stored[-1]
            spelled_otherwise += tokenizer.encode(tokenizer.decode(output)) != output

        with openai.OpenAI(base_url=f"{base}/v1", api_key="none", timeout=120, max_retries=0) as client:
            agent = Agent(client=client, streamed=streamed, after=after)
            agent.play(schedule(CYCLES))
        shown = http.get(base).json()
        samples = http.get(f"{base}/samples").json()["samples"]

    assert len(sent) == agent.turns == len(schedule(CYCLES)) + 1
    assert agent.events == Counter(
        {
            Action.TOOL_RESULT: 6,
            Action.USER_FOLLOWUP: 3,
            Action.SYSTEM_REMINDER: 3,
            Action.ROLLBACK: 4,
            Action.FORCE_FINAL: 1,
            Action.ASSISTANT_INPUT: 1,
            "results": 5,
            "append_tool": 1,
        }
    )
    assert spelled_otherwise >= agent.turns // 3
    head = [node["id"] for node in shown["metadata"]["tree"]["nodes"]][-1]
    assert head == agent.path[-1]
    # A turn that was rolled back is retried with the same prompt, so one path is trained.
    assert [sample["metadata"]["leaf"]["path_node_ids"] for sample in samples] == [agent.path]
    assert samples[0]["tokens"] == stored[-1]


class AlternatingEngine(SteeredEngine):
    """Calls and answers by turns: the regex stands for the ``tool_choice``, which asks for no markup."""

    def _steered(self, request: GenerateRequest) -> GenerateRequest:
        self.prompts.append(list(request.prompt_ids))
        options = {name: value for name, value in request.options.items() if name != "tool_choice"}
        spoken = CALL if len(self.prompts) % 2 else ANSWER
        return replace(request, options={**options, "regex": spoken, "logit_bias": {"151643": -100}})


def play_anthropic(base: str, *, streamed: bool) -> list[str]:
    """Three rounds of a call and an answer to its result; the stop reasons."""
    messages: list[Any] = []
    stops: list[str] = []
    with anthropic.Anthropic(base_url=base, api_key="none", timeout=120, max_retries=0) as client:

        def ask(choice: Any) -> Any:
            asked: Any = {
                "model": "tiny",
                "max_tokens": 300,
                "system": "You are a weather assistant.",
                "messages": messages,
                "tools": [TOOL],
                "tool_choice": choice,
                "thinking": {"type": "disabled"},
            }
            if streamed:
                with client.messages.stream(**asked) as events:
                    reply = events.get_final_message()
            else:
                reply = client.messages.create(**asked)
            stops.append(str(reply.stop_reason))
            messages.append({"role": "assistant", "content": [each.model_dump() for each in reply.content]})
            return reply

        for number, result in enumerate(RESULTS):
            if number == 2:
                messages.append({"role": "system", "content": "Reminder: be brief."})
            text = f"What's the weather, {number}?"
            blocks = [{"type": "text", "text": text}]
            messages.append({"role": "user", "content": blocks if number == 2 else text})
            reply = ask({"type": "tool", "name": "get_weather"})
            (call,) = [block for block in reply.content if block.type == "tool_use"]
            assert isinstance(call.input, dict)
            answer = {"type": "tool_result", "tool_use_id": call.id, "content": result}
            messages.append({"role": "user", "content": [answer]})
            assert any(block.type == "text" for block in ask({"type": "none"}).content)
    return stops


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("policy", list(HistoryPolicy))
def test_the_anthropic_schedule_keeps_every_id(
    sglang_url: str, policy: HistoryPolicy, streamed: bool
) -> None:
    tokenizer = load_tokenizer(str(qwen3_tokenizer()))
    engine = AlternatingEngine(sglang_url, tokenizer.vocab_size)
    sent = noted(engine)
    with served(engine, policy) as (http, base):
        health = http.get(base.split("/sessions/", maxsplit=1)[0] + "/health").json()
        assert health["anthropic_intermediate_system_supported"] is True
        assert "system" in health["append_roles"]
        stops = play_anthropic(base, streamed=streamed)
        shown = http.get(base).json()

    assert stops == ["tool_use", "end_turn"] * 3
    metadata, records = shown["metadata"], shown["records"]
    prompts = [record["request"]["input_ids"] for record in records]
    outputs = [record["response"]["output_ids"] for record in records]
    assert sent == engine.prompts == prompts
    assert {record["path"] for record in records} == {"/v1/chat/completions"}
    for turn in range(1, 6):
        before = prompts[turn - 1] + outputs[turn - 1]
        assert prompts[turn][: len(before)] == before
    assert [node["parent"] for node in metadata["tree"]["nodes"]] == [None, 0, 1, 2, 3, 4]
    assert metadata["tree"]["leaves"] == [{"node_id": 5, "path_node_ids": [0, 1, 2, 3, 4, 5]}]
    assert metadata["accumulated_token_ids"] == prompts[-1] + outputs[-1]
    roles = [message["role"] for message in records[-1]["request"]["messages"]]
    cycle = ["user", "assistant", "tool", "assistant"]
    assert roles == ["system", *cycle, *cycle, "system", *cycle[:-1]]
    assert hard(metadata) == []
