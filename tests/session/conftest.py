"""A renderer with the byte-level tokenizer, and a transcript of turns."""

from __future__ import annotations

import random
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from titocli.families.registry import get_family
from titocli.families.renderer import Renderer, family_renderer
from titocli.families.tiny import tiny_tokenizer
from titocli.session.arguments import TurnRequest
from titocli.session.generation import Completion, FinishReason
from titocli.session.history import HistoryPolicy
from titocli.session.session import Plan, Session
from titocli.session.tree import Turn
from titocli.tokens.ids import token_ids

Message = dict[str, Any]


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def assistant(text: str, **more: Any) -> Message:
    return {"role": "assistant", "content": text, **more}


def tool(text: str, call: str = "t0") -> Message:
    return {"role": "tool", "content": text, "tool_call_id": call}


def renderer_of(name: str) -> Renderer:
    family = get_family(name)
    return family_renderer(family, tiny_tokenizer(family))


@dataclass
class Transcript:
    """A session driven turn by turn; completions have random ids, as no tokenizer would spell them."""

    session: Session
    random: random.Random = field(default_factory=lambda: random.Random(0))
    clock: float = 0.0

    def plan(self, messages: Sequence[Message], **asked: Any) -> Plan:
        return self.session.plan(TurnRequest(messages=messages, **asked))

    def completion(
        self, message: Message, finish_reason: FinishReason = FinishReason.STOP, stop: bool = True
    ) -> Completion:
        tokenizer = self.session.renderer.tokenizer
        ids = [self.random.randrange(256) for _ in range(self.random.randrange(1, 9))]
        if stop and finish_reason is not FinishReason.LENGTH:
            end = tokenizer.token_id(self.session.renderer.family.stop_tokens[0])
            assert end is not None
            ids.append(end)
        return Completion(
            ids=token_ids(ids),
            log_probs=array("d", [-self.random.random() for _ in ids]),
            finish_reason=finish_reason,
            message=message,
            response_id=f"r{self.clock}",
            model="scripted",
        )

    def commit(self, plan: Plan, completion: Completion) -> Turn:
        self.clock += 1
        return self.session.commit(plan, completion, requested_at=self.clock, committed_at=self.clock + 0.5)

    def turn(self, messages: Sequence[Message], reply: Message, **asked: Any) -> Turn:
        finish_reason = asked.pop("finish_reason", FinishReason.STOP)
        return self.commit(self.plan(messages, **asked), self.completion(reply, finish_reason))


@pytest.fixture
def linear() -> Transcript:
    return Transcript(Session(renderer_of("qwen3"), HistoryPolicy.LINEAR))


@pytest.fixture
def tree() -> Transcript:
    return Transcript(Session(renderer_of("qwen3"), HistoryPolicy.TREE))


def snapshot(session: Session) -> Any:
    """Everything that a refused request must leave as it was."""
    return (
        session.head,
        session.in_flight,
        session.stored_tokens,
        [(turn.id, turn.parent, session.tree.messages(turn.id)) for turn in session.tree],
    )
