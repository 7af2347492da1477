"""What a family renders for a turn is parsed to a message that it renders to the same ids.

*Unreachable* turns are not compared: they do not begin with what the generation prompt writes, for the
template leaves out an empty think block that the prompt has opened, or the message has reasoning though
thinking is off.  All others are; one may differ only where ``inexpressible`` says why no message of the parsed
parts is rendered to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from titocli.families.family import Family, Glue, ToolCallGrammar
from titocli.families.kwargs import resolve_kwargs
from titocli.families.messages import normalise_messages, normalise_tools
from titocli.families.parsers.completion import parse_completion
from titocli.families.registry import all_contracts
from titocli.families.renderer import Renderer, family_renderer
from titocli.families.tiny import tiny_tokenizer
from titocli.verify.conversations import Conversation, generate
from titocli.verify.tool_samples import BROKEN_ARGUMENTS

CONTRACTS = [family for family in all_contracts() if family.parsers.tool_call is not None]
CONVERSATIONS = 150
SEED = 3


def _label(family: Family) -> str:
    return f"{family.name}-{family.variant}" if family.variant else family.name


class _Turn:
    """The last assistant turn of a conversation."""

    def __init__(self, renderer: Renderer, conversation: Conversation, index: int) -> None:
        self.renderer = renderer
        self.before = list(conversation.messages[:index])
        self.message = _with_own_ids(renderer.family, conversation.messages[index])
        self.tools = normalise_tools(conversation.tools)
        self.kwargs = resolve_kwargs(renderer.family, conversation.kwargs)
        self.prompt = self._render(self.before, generation_prompt=True)
        self.text = self.render(self.message)

    def render(self, message: Any) -> str:
        return self._render([*self.before, message], generation_prompt=False)

    def _render(self, messages: Sequence[Any], *, generation_prompt: bool) -> str:
        return self.renderer.text(
            normalise_messages(self.renderer.family, messages),
            tools=self.tools,
            kwargs=self.kwargs,
            generation_prompt=generation_prompt,
        )

    def completion_ids(self) -> list[int]:
        boundary = self.renderer.family.boundary
        completion = self.text.removeprefix(self.prompt)
        if isinstance(boundary, Glue):
            completion = completion.removesuffix(boundary.text)
        return self.renderer.tokenizer.encode(completion)

    def parsed_message(self) -> Any:
        return parse_completion(
            self.renderer.family,
            self.renderer.tokenizer,
            self.completion_ids(),
            generation_prompt=self.renderer.generation_prompt_of(self.prompt),
            tools=self.tools,
            turn="t",
        ).message()

    def inexpressible(self) -> str | None:
        """Why no message of the parsed parts gives the turn; None where one must."""
        calls = self.message.get("tool_calls") or ()
        if any(call["function"]["arguments"] in BROKEN_ARGUMENTS for call in calls):
            return "arguments that are no JSON object are no call: their text stays content"
        if "</think>" in self.message["content"]:
            return "content with a think block of its own is taken for reasoning"
        blank = not str(self.message.get("reasoning_content") or "").strip()
        if _label(self.renderer.family) in {"glm47-4.7", "glm47-5"} and blank:
            return "these templates print an empty think block only for reasoning of whitespace"
        return None


def _with_own_ids(family: Family, message: Any) -> Any:
    """The message with the ids that a Kimi model gives its calls."""
    if family.parsers.tool_call is not ToolCallGrammar.KIMI_SECTIONS or not message.get("tool_calls"):
        return message
    calls = [
        {**call, "id": f"functions.{call['function']['name']}:{number}"}
        for number, call in enumerate(message["tool_calls"])
    ]
    return {**message, "tool_calls": calls}


def _turns(renderer: Renderer) -> list[_Turn]:
    turns = []
    for conversation in generate(renderer.family, CONVERSATIONS, SEED):
        roles = [message["role"] for message in conversation.messages]
        last = max((index for index, role in enumerate(roles) if role == "assistant"), default=0)
        if last:
            turns.append(_Turn(renderer, conversation, last))
    return turns


@pytest.mark.parametrize("family", CONTRACTS, ids=_label)
def test_rendering_a_parsed_turn_gives_its_ids_again(family: Family) -> None:
    renderer = family_renderer(family, tiny_tokenizer(family))
    counts: Counter[str] = Counter()
    for turn in _turns(renderer):
        if not turn.text.startswith(turn.prompt):
            counts["unreachable"] += 1
            continue
        again = turn.render(turn.parsed_message())
        if again != turn.text:
            assert turn.inexpressible(), (turn.text, again)
            counts["different"] += 1
            continue
        assert renderer.ids(again) == renderer.ids(turn.text)
        counts["same"] += 1
        counts["with calls"] += bool(turn.message.get("tool_calls"))
    assert counts["same"] > CONVERSATIONS / 3
    assert counts["with calls"] > 3
    assert counts["different"] < CONVERSATIONS / 10
