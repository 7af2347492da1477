"""A session as plain lists: the rules written down once more, without hashes, deltas or a tree."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from titocli.families.family import Family, Glue, Trim
from titocli.tokens.tokenizer import Tokenizer

Message = dict[str, Any]


@dataclass
class NaiveTurn:
    """Everything of a turn, whole: every message, every id of its prompt."""

    parent: int | None
    messages: list[Message]
    prompt: list[int]
    completion: list[int]
    truncated: bool

    @property
    def ids(self) -> list[int]:
        return self.prompt + self.completion


@dataclass(frozen=True)
class Attach:
    """What becomes of a request: the turn that it continues, or the code of its refusal."""

    parent: int | None = None
    refused: str | None = None


@dataclass
class NaiveSession:
    family: Family
    tokenizer: Tokenizer
    linear: bool
    loose: bool
    turns: list[NaiveTurn] = field(default_factory=list)
    head: int | None = None

    def path(self, turn: int | None) -> list[int]:
        path: list[int] = []
        while turn is not None:
            path.insert(0, turn)
            turn = self.turns[turn].parent
        return path

    def attach(self, messages: list[Message]) -> Attach:
        found = self._linear(messages) if self.linear else self._tree(messages)
        if found.refused:
            return found
        known = 0 if found.parent is None else len(self.turns[found.parent].messages)
        prefilled = len(messages) > known and messages[-1]["role"] == "assistant"
        if prefilled:
            return Attach(refused="unsupported_request")
        new = self.stored(found.parent, messages)[max(0, known - 1) :]
        return Attach(refused="invalid_messages") if self._unanswered(new) else found

    def _unanswered(self, messages: list[Message]) -> bool:
        """Whether calls that something follows lack a result, in DeepSeek's families."""
        for at, message in enumerate(messages[:-1] if self.family.encoder else []):
            results = takewhile(lambda each: each["role"] == "tool", messages[at + 1 :])
            answered = {result["tool_call_id"] for result in results}
            if not answered >= {call["id"] for call in message.get("tool_calls") or []}:
                return True
        return False

    def _linear(self, messages: list[Message]) -> Attach:
        path = self.path(self.head)
        kept = [turn for turn in path if self._replays(messages, self.turns[turn].messages)]
        if len(path) - len(kept) > 1:
            return Attach(refused="rollback_too_deep")
        return Attach(parent=kept[-1] if kept else None)

    def _tree(self, messages: list[Message]) -> Attach:
        found = [turn for turn, each in enumerate(self.turns) if self._replays(messages, each.messages)]
        if not found:
            return Attach()
        best = max(found, key=lambda turn: (len(self.turns[turn].messages), turn))
        return Attach(refused="truncated_path") if self.turns[best].truncated else Attach(parent=best)

    def _replays(self, messages: list[Message], stored: list[Message]) -> bool:
        return len(stored) <= len(messages) and all(
            one is other or self.same(one, other) for one, other in zip(stored, messages, strict=False)
        )

    def same(self, stored: Message, replayed: Message) -> bool:
        return self._seen(stored) == self._seen(replayed)

    def _seen(self, message: Message) -> dict[str, Any]:
        names = ("role", "content", "reasoning_content", "tool_calls", "tool_call_id", "name")
        seen = {name: message[name] for name in names if message.get(name)}
        if "tool_calls" in seen:
            seen["tool_calls"] = [self._seen_call(call) for call in seen["tool_calls"]]
        return seen

    def _seen_call(self, call: Message) -> Message:
        function = dict(call["function"])
        if self.loose:
            function["arguments"] = json.loads(function["arguments"])
        return {"id": call["id"], "type": call["type"], "function": function}

    def stored(self, parent: int | None, messages: list[Message]) -> list[Message]:
        """The messages of a request in their stored spelling."""
        kept = [] if parent is None else self.turns[parent].messages
        return kept + messages[len(kept) :]

    def kept_ids(self, parent: int) -> list[int]:
        """What a prompt that continues ``parent`` must begin with."""
        ids = self.turns[parent].ids
        rule = self.family.boundary
        if isinstance(rule, Trim) and ids[-1] in [self.tokenizer.token_id(token) for token in rule.tokens]:
            return ids[:-1]
        if isinstance(rule, Glue) and ids[-1] == self.tokenizer.token_id(rule.after):
            return ids + self.tokenizer.encode(rule.text)
        stops = self.family.stop_tokens
        if isinstance(rule, Trim) or ids[-1] in [self.tokenizer.token_id(token) for token in stops]:
            return ids
        # The turn was cut off: it is closed as the template closes it.
        return ids + self.tokenizer.encode(stops[0] + (rule.text if isinstance(rule, Glue) else ""))

    def commits(self, planned_head: int | None) -> bool:
        return not self.linear or planned_head == self.head

    def commit(self, turn: NaiveTurn) -> None:
        self.turns.append(turn)
        self.head = len(self.turns) - 1
