"""What the client of a walk asks next: conversations made of the turns that a model of the session holds."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.session.naive import Attach, NaiveSession
from tests.walk_vocabulary import WORDS
from titocli.families.family import ToolRuns

from .engine import Scripted
from .wires import Wire

Message = dict[str, Any]


@dataclass(eq=False)
class Ask:
    """One request: what is sent, what the model says of it, what the engine will do."""

    seed: int
    wire: Wire
    messages: list[Message]
    attach: Attach
    with_tools: bool
    scripted: Scripted


class Asking:
    """Random requests; each message that is composed here has a mark of its own, ``<number>#``."""

    def __init__(self, chance: random.Random, naive: NaiveSession) -> None:
        self.chance = chance
        self.naive = naive
        self.number = 0

    def text(self, most: int = 4) -> str:
        self.number += 1
        return f"{self.number}# " + "".join(self.chance.choices(WORDS, k=self.chance.randrange(1, most + 1)))

    def user(self, most: int = 4) -> Message:
        return {"role": "user", "content": self.text(most)}

    def request(self) -> tuple[str, list[Message]]:
        """The kind of the request and its messages, spelled as some client would."""
        makers, weights = zip(*self.KINDS, strict=True)
        (make,) = self.chance.choices(makers, weights)
        return make.__name__, make(self)

    def conversation(self) -> list[Message]:
        """Of the head most of the time, else of any turn; empty where there is none."""
        naive = self.naive
        if naive.head is None:
            return []
        at_head = self.chance.random() < (0.95 if naive.linear else 0.7)
        turn = naive.head if at_head else self.chance.randrange(len(naive.turns))
        return list(naive.turns[turn].messages)

    def restart(self) -> list[Message]:
        opening: list[Message] = [{"role": "system", "content": self.text()}]
        return [*(opening if self.chance.random() < 0.3 else []), self.user()]

    def extend(self) -> list[Message]:
        messages = self.conversation()
        if not messages:
            return self.restart()
        calls = messages[-1].get("tool_calls") or []
        results = [{"role": "tool", "tool_call_id": call["id"], "content": self.text()} for call in calls]
        whole = self.naive.family.tool_runs is ToolRuns.COMPLETE
        if not results or (not whole and self.chance.random() < 0.1):
            return [*messages, self.user()]
        return [*messages, *results, *([self.user()] if self.chance.random() < 0.2 else [])]

    def retry(self) -> list[Message]:
        return self.conversation()[:-1] or self.restart()

    def branch(self) -> list[Message]:
        messages = self.conversation()
        kept = messages[: self.chance.randrange(len(messages) + 1)]
        while kept and (kept[-1].get("tool_calls") or kept[-1]["role"] == "tool"):
            kept.pop()
        return [*kept, self.user()]

    def resend(self) -> list[Message]:
        return self.conversation() or self.restart()

    def few_shot(self) -> list[Message]:
        shots = [message for _ in range(2) for message in (self.user(), self.said())]
        return [*shots, self.user()]

    def inject(self) -> list[Message]:
        return [*self.retry(), self.said(), self.user()]

    def prefill(self) -> list[Message]:
        return [*self.retry(), self.said()]

    def rewrite(self) -> list[Message]:
        messages = self.extend()
        at = self.chance.randrange(len(messages))
        return [*messages[:at], {**messages[at], "content": self.text()}, *messages[at + 1 :]]

    def compact(self) -> list[Message]:
        """A summary in the place of all but the last exchange."""
        last = self.conversation()[-2:]
        plain = len(last) == 2 and last[0]["role"] == "user" and not last[1].get("tool_calls")
        return [
            {"role": "user", "content": f"summary: {self.text(8)}"},
            *(last if plain else []),
            self.user(),
        ]

    def said(self) -> Message:
        return {"role": "assistant", "content": self.text()}

    KINDS: tuple[tuple[Callable[[Asking], list[Message]], int], ...] = (
        (extend, 60),
        (retry, 12),
        (branch, 6),
        (resend, 3),
        (inject, 4),
        (few_shot, 2),
        (prefill, 2),
        (rewrite, 4),
        (compact, 2),
        (restart, 3),
    )

    def respelled(self, message: Message) -> Message:
        """An assistant message as some client of OpenAI's format sends it back."""
        if message["role"] != "assistant" or self.chance.random() < 0.6:
            return message
        noise: list[Message] = [{"refusal": None}, {"annotations": []}, {"index": 3}, {"name": None}]
        spelled = {**message, **self.chance.choice(noise)}
        if not spelled["content"]:
            spelled["content"] = self.chance.choice(["", None])
        if calls := spelled.get("tool_calls"):
            spelled["tool_calls"] = [self._respelled_call(at, call) for at, call in enumerate(calls)]
        return spelled

    def _respelled_call(self, at: int, call: Message) -> Message:
        if self.chance.random() < (0.5 if self.naive.loose else 0.05):
            value = json.loads(call["function"]["arguments"])
            spaced = json.dumps(dict(reversed(value.items())), indent=1)
            call = {**call, "function": {**call["function"], "arguments": spaced}}
        return {**call, "index": at} if self.chance.random() < 0.5 else call

    def reply(self) -> Message:
        """What a model says next: text, thoughts, calls."""
        content = self.chance.choice([self.text(), "same answer"])
        reply: Message = {"role": "assistant", "content": content}
        if self.chance.random() < 0.2:
            reply["reasoning_content"] = self.text()
        if self.chance.random() < 0.35:
            reply["content"] = self.chance.choice([content, "", "\n\n"])
            reply["tool_calls"] = [self._call(at) for at in range(self.chance.randrange(1, 3))]
        return reply

    def _call(self, at: int) -> Message:
        value = {"a": self.text(2), "n": self.chance.choice([1, 2.5, None, "é"])}
        function = {"name": "f", "arguments": json.dumps(value, ensure_ascii=self.chance.random() < 0.5)}
        return {"id": f"functions.f:{2 * self.number + at}", "type": "function", "function": function}


__all__ = ["Ask", "Asking"]
