"""Random walks of sessions beside a naive model: no divergence, and no id that was read or written changes.

Completions are in random ids, as no tokenizer would spell them: text cut anywhere into tokens of any length,
half characters included.  A walk is fixed by its seed; a failure tells the steps up to the one that failed.
"""

from __future__ import annotations

import json
import random
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import compress, pairwise
from typing import Any

import pytest

from tests.walk_vocabulary import WORDS, pieces_of, renderer_of
from titocli.errors import EngineAborted, StaleCommit, TitoError
from titocli.families.family import ToolRuns
from titocli.families.messages import normalise_messages
from titocli.session.arguments import TurnRequest
from titocli.session.generation import Completion, FinishReason
from titocli.session.history import HistoryPolicy
from titocli.session.limits import SessionLimits
from titocli.session.matching import LOOSE_TOOL_CALL, STRICT
from titocli.session.plan import Plan
from titocli.session.samples import samples
from titocli.session.session import Session
from titocli.tokens.ids import token_ids

from .naive import NaiveSession, NaiveTurn

Message = dict[str, Any]

#: Walks of families by their boundary: glue, trim, concatenation, and one that renders its real history.
WALKS = {"qwen3": 20, "glm47": 20, "kimi26": 20, "deepseekv4": 5}
#: Steps of one walk: a conversation grows with them, and what a step costs the model with the conversation.
STEPS = 80
#: A whole render is the oracle of one step in so many.
RENDERED = 12

TOOLS: Any = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]


class Walk:
    def __init__(self, name: str, policy: HistoryPolicy, seed: int) -> None:
        self.chance = random.Random(f"{name} {policy} {seed}")
        self.name = name
        self.renderer = renderer_of(name)
        matcher = LOOSE_TOOL_CALL if seed % 2 else STRICT
        self.session = Session(self.renderer, policy, matcher=matcher, limits=SessionLimits(max_turns=10_000))
        self.naive = NaiveSession(
            family=self.renderer.family,
            tokenizer=self.renderer.tokenizer,
            linear=policy is HistoryPolicy.LINEAR,
            loose=matcher is LOOSE_TOOL_CALL,
        )
        self.whole_runs = self.renderer.family.tool_runs is ToolRuns.COMPLETE
        self.steps: list[str] = []
        self.outcomes: Counter[str] = Counter()
        self.number = 0

    # What a client asks.

    def text(self, most: int = 4) -> str:
        return "".join(self.chance.choices(WORDS, k=self.chance.randrange(1, most + 1)))

    def conversation(self) -> list[Message]:
        """Of the head most of the time, else of any turn; empty where there is none."""
        if not self.naive.turns or self.naive.head is None:
            return []
        at_head = self.chance.random() < (0.95 if self.naive.linear else 0.7)
        turn = self.naive.head if at_head else self.chance.randrange(len(self.naive.turns))
        return list(self.naive.turns[turn].messages)

    def question(self) -> list[Message]:
        opening: list[Message] = (
            [{"role": "system", "content": self.text()}] if self.chance.random() < 0.3 else []
        )
        return [*opening, {"role": "user", "content": f"{self.text()} {self.chance.randrange(4)}"}]

    def restart(self) -> list[Message]:
        return self.question()

    def extend(self) -> list[Message]:
        messages = self.conversation()
        if not messages:
            return self.question()
        calls = messages[-1].get("tool_calls") or []
        results = [{"role": "tool", "tool_call_id": call["id"], "content": self.text()} for call in calls]
        if results and (self.whole_runs or self.chance.random() < 0.85):
            return messages + results
        return [*messages, {"role": "user", "content": self.text()}]

    def retry(self) -> list[Message]:
        return self.conversation()[:-1] or self.question()

    def branch(self) -> list[Message]:
        messages = self.conversation()
        kept = messages[: self.chance.randrange(len(messages) + 1)]
        while kept and (kept[-1].get("tool_calls") or (self.whole_runs and kept[-1]["role"] == "tool")):
            kept.pop()  # results would be missing, which not every family takes
        return [*kept, {"role": "user", "content": self.text()}]

    def resend(self) -> list[Message]:
        return self.conversation() or self.question()

    def inject(self) -> list[Message]:
        summary = {"role": "assistant", "content": self.text()}
        return [*self.retry(), summary, {"role": "user", "content": self.text()}]

    def prefill(self) -> list[Message]:
        return [*self.retry(), {"role": "assistant", "content": self.text()}]

    def rewrite(self) -> list[Message]:
        messages = self.extend()
        at = self.chance.randrange(len(messages))
        return [*messages[:at], {**messages[at], "content": self.text()}, *messages[at + 1 :]]

    def compact(self) -> list[Message]:
        return [
            {"role": "user", "content": f"summary: {self.text(8)}"},
            {"role": "user", "content": self.text()},
        ]

    ASKED: tuple[tuple[Callable[[Walk], list[Message]], int], ...] = (
        (extend, 60),
        (retry, 12),
        (branch, 6),
        (resend, 3),
        (inject, 4),
        (prefill, 2),
        (rewrite, 4),
        (compact, 2),
        (restart, 3),
    )

    def request(self) -> list[Message]:
        makers, weights = zip(*self.ASKED, strict=True)
        (make,) = self.chance.choices(makers, weights)
        self.steps.append(make.__name__)
        return [self.respelled(message) for message in make(self)]

    def respelled(self, message: Message) -> Message:
        """The message as some client would send it back."""
        if message["role"] != "assistant" or self.chance.random() < 0.6:
            return message
        noise: list[Message] = [
            {"refusal": None},
            {"annotations": []},
            {"tool_calls": message.get("tool_calls")},
            {"index": 3},
        ]
        spelled = {**message, **self.chance.choice(noise)}
        if not spelled["content"]:
            spelled["content"] = self.chance.choice(["", None])
        if spelled.get("tool_calls"):
            spelled["tool_calls"] = [
                self.respelled_call(at, call) for at, call in enumerate(spelled["tool_calls"])
            ]
        return spelled

    def respelled_call(self, at: int, call: Message) -> Message:
        if self.chance.random() < 0.05 or (self.naive.loose and self.chance.random() < 0.5):
            value = json.loads(call["function"]["arguments"])
            spaced = json.dumps(dict(reversed(value.items())), indent=self.chance.choice([None, 1]))
            call = {**call, "function": {**call["function"], "arguments": spaced}}
        return {**call, "index": at} if self.chance.random() < 0.5 else call

    # What an engine answers.

    def reply(self) -> Message:
        self.number += 1
        content = self.chance.choice([self.text(), self.text(), "same answer", ""])
        if self.chance.random() > 0.35:
            return {"role": "assistant", "content": content}
        calls = [self.call(at) for at in range(self.chance.randrange(1, 3))]
        return {"role": "assistant", "content": content, "tool_calls": calls}

    def call(self, at: int) -> Message:
        arguments = json.dumps(
            {"a": self.text(2), "n": self.chance.choice([1, 2.5, None, True])}, ensure_ascii=False
        )
        function = {"name": "f", "arguments": arguments}
        return {"id": f"functions.f:{2 * self.number + at}", "type": "function", "function": function}

    def sampled(self, text: str) -> list[int]:
        """Ids that spell ``text``, cut anywhere, perhaps with half a character at the end."""
        pieces, data, ids = pieces_of(self.name), text.encode(), []
        while data:
            lengths = [n for n in range(1, 9) if data[:n] in pieces and n <= len(data)]
            length = self.chance.choice(lengths)
            ids.append(pieces[data[:length]])
            data = data[length:]
        return ids[: len(ids) - self.chance.randrange(2)] or [65]

    def completion(self, message: Message) -> Completion:
        truncated = self.chance.random() < 0.07
        ids = self.sampled(message["content"] or "f()")
        if not truncated and self.chance.random() < 0.9:
            stop = self.renderer.tokenizer.token_id(self.chance.choice(self.stops()))
            assert stop is not None
            ids.append(stop)
        return Completion(
            ids=token_ids(ids),
            log_probs=array("d", [-self.chance.random() for _ in ids]),
            finish_reason=FinishReason.LENGTH if truncated else FinishReason.STOP,
            message=message,
            response_id="always the same",
            model="walk",
        )

    def stops(self) -> Sequence[str]:
        known = self.renderer.tokenizer
        return [token for token in self.renderer.family.stop_tokens if known.token_id(token) is not None]

    # One step: plan, generate, commit; everything beside the naive model.

    def plan(self, messages: list[Message]) -> Plan | None:
        expected = self.naive.attach(messages)
        plan, refused = self.planned(messages)
        assert refused == expected.refused, f"{refused} is not {expected}"
        if plan is None:
            self.outcomes[str(refused)] += 1
            return None
        assert plan.parent == expected.parent
        self.check(plan, messages)
        return plan

    def planned(self, messages: list[Message]) -> tuple[Plan | None, str | None]:
        try:
            return self.session.plan(TurnRequest(messages=messages, tools=TOOLS)), None
        except TitoError as error:
            return None, error.code

    def check(self, plan: Plan, messages: list[Message]) -> None:
        stored = self.naive.stored(plan.parent, messages)
        assert list(plan.messages) == stored
        kept = [] if plan.parent is None else self.naive.kept_ids(plan.parent)
        assert plan.prompt_ids[: len(kept)].tolist() == kept
        if self.chance.randrange(RENDERED) == 0 or plan.parent is None:
            spelled = self.renderer.tokenizer.decode(plan.prompt_ids[len(kept) :])
            assert spelled == self.rendered(plan, stored)

    def rendered(self, plan: Plan, stored: list[Message]) -> str:
        """What the template prints after the turn that is continued: two whole renders, their difference."""
        known = 0 if plan.parent is None else len(self.naive.turns[plan.parent].messages)
        whole = self.render(plan, stored, generation_prompt=True)
        before = self.render(plan, stored[:known], generation_prompt=False) if known else ""
        assert whole.startswith(before)
        return whole[len(before) :]

    def render(self, plan: Plan, messages: list[Message], *, generation_prompt: bool) -> str:
        return self.renderer.text(
            normalise_messages(self.renderer.family, messages),
            tools=plan.arguments.tools,
            kwargs=plan.arguments.template_kwargs,
            generation_prompt=generation_prompt,
        )

    def step(self) -> None:
        together = 2 if self.chance.random() < 0.12 else 1
        plans = [plan for _ in range(together) if (plan := self.plan(self.request())) is not None]
        self.chance.shuffle(plans)
        with ExitStack() as engine:
            for plan in plans:
                engine.enter_context(self.session.generating(plan))
            assert self.session.in_flight == len(plans)
            for plan in plans:
                self.finish(plan)
        assert self.session.in_flight == 0

    def finish(self, plan: Plan) -> None:
        if self.chance.random() < 0.12:
            self.steps.append("  aborted")
            self.outcomes["aborted"] += 1
            with pytest.raises(EngineAborted), self.session.generating(plan):
                raise EngineAborted("the engine aborted")
            return
        completion = self.completion(self.reply())
        head = self.session.head
        try:
            turn = self.session.commit(plan, completion, requested_at=0.0, committed_at=1.0)
        except StaleCommit:
            self.steps.append("  stale")
            self.outcomes["stale"] += 1
            assert not self.naive.commits(plan.head)
            assert self.session.head == head
            return
        assert self.naive.commits(plan.head)
        self.steps.append(f"  turn {turn.id} after {turn.parent}")
        self.outcomes["turns" if turn.parent is not None else "roots"] += 1
        self.naive.commit(
            NaiveTurn(
                parent=plan.parent,
                messages=[*map(dict, plan.messages), completion.message],  # type: ignore[list-item] # messages are mappings
                prompt=plan.prompt_ids.tolist(),
                completion=completion.ids.tolist(),
                truncated=completion.finish_reason is FinishReason.LENGTH,
            )
        )
        self.compare(turn.id)

    def compare(self, turn: int) -> None:
        tree, naive = self.session.tree, self.naive.turns[turn]
        assert (len(tree), self.session.head) == (len(self.naive.turns), self.naive.head)
        assert tree.prompt_ids(turn).tolist() == naive.prompt
        assert tree.ids(turn).tolist() == naive.ids
        assert tree.messages(turn) == naive.messages
        assert tree[turn].parent == naive.parent

    def check_samples(self) -> None:
        """Every leaf's sample has the ids that were read and written, and trains those that were sampled."""
        for sample in samples(self.session):
            path = self.until_truncated(self.naive.path(sample.leaf))
            kept = [self.kept_completion(*pair) for pair in pairwise([*path, None])]
            assert sample.tokens.tolist() == self.naive.turns[path[-1]].ids
            trained = sample.tokens[len(sample.tokens) - sample.response_length :]
            assert list(compress(trained, sample.loss_mask)) == [token for ids in kept for token in ids]

    def until_truncated(self, path: list[int]) -> list[int]:
        cut = [at for at, turn in enumerate(path) if self.naive.turns[turn].truncated]
        return path[: cut[0] + 1] if cut else path

    def kept_completion(self, turn: int | None, follower: int | None) -> list[int]:
        assert turn is not None
        ids = self.naive.turns[turn].completion
        trimmed = follower is not None and self.session.tree[follower].trim
        return ids[:-1] if trimmed else ids

    @contextmanager
    def told(self, seed: int) -> Iterator[None]:
        try:
            yield
        except AssertionError as error:
            steps = "\n".join(self.steps)
            raise AssertionError(f"{self.name}, seed {seed}, after these steps:\n{steps}\n{error}") from error


@pytest.mark.parametrize("policy", list(HistoryPolicy))
@pytest.mark.parametrize("name", WALKS)
def test_walks_never_leave_the_naive_model(name: str, policy: HistoryPolicy) -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(WALKS[name]):
        walk = Walk(name, policy, seed)
        with walk.told(seed):
            for _ in range(STEPS):
                walk.step()
            for turn in range(len(walk.naive.turns)):
                walk.compare(turn)
            deltas = sum(len(turn.prompt_delta) + len(turn.completion.ids) for turn in walk.session.tree)
            assert walk.session.stored_tokens == deltas
            walk.check_samples()
        outcomes += walk.outcomes

    refused, other = ("rollback_too_deep", "stale") if walk.naive.linear else ("truncated_path", "roots")
    assert min(outcomes[each] for each in (refused, other, "aborted", "unsupported_request")) > 0
    assert outcomes["turns"] > WALKS[name] * STEPS // 3


def test_ten_thousand_steps_are_walked() -> None:
    assert sum(WALKS.values()) * STEPS * len(HistoryPolicy) >= 10_000
