"""Tool conversations through the official anthropic client, the session server and the real SGLang."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import anthropic
import httpx
import pytest

from tests.assets import qwen3_tokenizer
from tests.engine.test_conversation_live import ANSWER, CALL
from tests.server.conftest import running
from titocli.engine.sglang import SglangEngine
from titocli.families.registry import get_family
from titocli.families.renderer import family_renderer
from titocli.server.state import SessionServer
from titocli.session.generation import Completion, GenerateRequest, MessageDelta
from titocli.session.history import HistoryPolicy
from titocli.tokens.loading import load_tokenizer

pytestmark = pytest.mark.engine

TURNS = 8
TOOL: Any = {
    "name": "get_weather",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


class SteeredEngine(SglangEngine):
    """A random model that speaks by a regex, which Anthropic's format has no field for."""

    def __init__(self, url: str, vocab_size: int) -> None:
        super().__init__(url, vocab_size=vocab_size)
        self.prompts: list[list[int]] = []

    def _steered(self, request: GenerateRequest) -> GenerateRequest:
        self.prompts.append(list(request.prompt_ids))
        spoken = ANSWER if len(self.prompts) % 4 == 0 else CALL
        # A random model ends every other turn with <|endoftext|>, which no render of the turn has.
        return replace(request, options={**request.options, "regex": spoken, "logit_bias": {"151643": -100}})

    async def generate(self, request: GenerateRequest) -> Completion:
        return await super().generate(self._steered(request))

    async def stream(self, request: GenerateRequest) -> AsyncGenerator[MessageDelta | Completion, None]:
        async for piece in super().stream(self._steered(request)):
            yield piece


def play(base: str) -> None:
    """Rounds of tool use, every other turn streamed, as an agent plays them."""
    messages: list[Any] = [{"role": "user", "content": "Weather in Paris?"}]
    with anthropic.Anthropic(base_url=base, api_key="none", timeout=120, max_retries=0) as client:
        for number in range(TURNS):
            asked: Any = {
                "model": "tiny",
                "max_tokens": 300,
                "messages": messages,
                "tools": [TOOL],
                "thinking": {"type": "disabled"},
                "system": f"x-anthropic-billing-header: cch={number};\nBe brief.",
            }
            if number % 2:
                with client.messages.stream(**asked) as events:
                    reply = events.get_final_message()
            else:
                reply = client.messages.create(**asked)
            counted = client.messages.count_tokens(
                **{name: value for name, value in asked.items() if name != "max_tokens"}
            )
            cached = reply.usage.cache_read_input_tokens or 0
            assert counted.input_tokens == reply.usage.input_tokens + cached
            results = [
                {"type": "tool_result", "tool_use_id": block.id, "content": f"{number} degrees, ü\u2028"}
                for block in reply.content
                if block.type == "tool_use"
            ]
            assert (reply.stop_reason == "tool_use") is bool(results)
            messages.append({"role": "assistant", "content": [block.model_dump() for block in reply.content]})
            messages.append(
                {"role": "user", "content": [*results, {"type": "text", "text": f"On, {number}."}]}
            )


@pytest.mark.parametrize("policy", list(HistoryPolicy))
def test_the_official_client_stays_on_one_path_and_keeps_every_id(
    sglang_url: str, policy: HistoryPolicy
) -> None:
    tokenizer = load_tokenizer(str(qwen3_tokenizer()))
    engine = SteeredEngine(sglang_url, tokenizer.vocab_size)
    renderer = family_renderer(get_family("qwen3"), tokenizer)
    server = SessionServer(renderer=renderer, engine=engine, policy=policy)
    with running(server) as url, httpx.Client(timeout=60) as http:
        base = http.post(f"{url}/sessions").json()["base_url"]
        play(base)
        shown = http.get(base).json()

    metadata = shown["metadata"]
    outputs = [record["response"]["output_ids"] for record in shown["records"]]
    assert [record["request"]["input_ids"] for record in shown["records"]] == engine.prompts
    assert [node["parent"] for node in metadata["tree"]["nodes"]] == [None, *range(TURNS - 1)]
    for turn in range(1, TURNS):
        before = engine.prompts[turn - 1] + outputs[turn - 1]
        assert engine.prompts[turn][: len(before)] == before
    assert [miss for miss in metadata["tito_session_mismatch"] if miss["type"] != "assistant_text"] == []
