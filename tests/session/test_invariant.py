"""The one invariant, under random walks: what an engine read and wrote stays, id by id.

A naive model keeps plain lists beside the session: every turn's prompt and completion as they were when they
happened.  Completions have random ids, as no tokenizer would spell them.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from titocli.errors import SessionError
from titocli.session.generation import FinishReason
from titocli.session.history import HistoryPolicy
from titocli.session.samples import samples
from titocli.session.session import Session

from .conftest import Transcript, assistant, renderer_of, tool, user

STEPS = 600


class NaiveModel:
    """Every committed turn as plain lists."""

    def __init__(self) -> None:
        self.prompts: list[list[int]] = []
        self.completions: list[list[int]] = []
        self.conversations: list[list[Any]] = []


def walk(policy: HistoryPolicy, seed: int) -> tuple[Transcript, NaiveModel]:
    chance = random.Random(seed)
    transcript = Transcript(Session(renderer_of("qwen3"), policy, max_turns=STEPS), random.Random(seed))
    model = NaiveModel()
    for number in range(STEPS):
        messages = next_messages(chance, model, number)
        try:
            plan = transcript.plan(messages)
        except SessionError:
            continue  # illegal here (too deep, truncated); the other steps show that nothing changed
        if chance.random() < 0.1:
            continue  # the engine failed
        check_plan(transcript, model, plan, messages)
        finish = FinishReason.LENGTH if chance.random() < 0.05 else FinishReason.STOP
        completion = transcript.completion(assistant(f"reply {chance.randrange(3)}"), finish)
        transcript.commit(plan, completion)
        model.prompts.append(plan.prompt_ids.tolist())
        model.completions.append(completion.ids.tolist())
        model.conversations.append([*messages, completion.message])
    return transcript, model


def next_messages(chance: random.Random, model: NaiveModel, number: int) -> list[Any]:
    """Mostly continue the last conversation; else an older one, one cut short, or a new one."""
    if not model.conversations or chance.random() < 0.02:
        return [user(f"start {chance.randrange(5)}")]
    old = model.conversations[-1] if chance.random() < 0.8 else chance.choice(model.conversations)
    if chance.random() < 0.2:
        return old[:-1]  # a retry of that turn
    kept = old if chance.random() < 0.9 else old[: chance.randrange(1, len(old) + 1)]
    appended = [tool(f"result {number}")] * chance.randrange(3) or [user(f"and {number}")]
    return [*kept, *appended]


def check_plan(transcript: Transcript, model: NaiveModel, plan: Any, messages: list[Any]) -> None:
    if plan.parent is None:
        return
    before = model.prompts[plan.parent] + model.completions[plan.parent]
    assert plan.prompt_ids.tolist()[: len(before)] == before
    assert messages[: len(model.conversations[plan.parent])] == model.conversations[plan.parent]
    text = transcript.session.renderer.tokenizer.decode(plan.prompt_ids)
    for message in messages[len(model.conversations[plan.parent]) :]:
        assert message["content"] in text


@pytest.mark.parametrize("policy", list(HistoryPolicy))
@pytest.mark.parametrize("seed", range(4))
def test_a_random_walk_never_changes_what_was_generated(policy: HistoryPolicy, seed: int) -> None:
    transcript, model = walk(policy, seed)
    session = transcript.session
    assert len(session.tree) == len(model.prompts) > STEPS // 4

    for turn in session.tree:
        assert session.tree.prompt_ids(turn.id).tolist() == model.prompts[turn.id]
        assert turn.completion.ids.tolist() == model.completions[turn.id]
        assert session.tree.messages(turn.id) == model.conversations[turn.id]


@pytest.mark.parametrize("policy", list(HistoryPolicy))
def test_every_sample_is_the_ids_of_its_leaf(policy: HistoryPolicy) -> None:
    transcript, model = walk(policy, seed=9)

    for sample in samples(transcript.session):
        assert sample.tokens.tolist() == model.prompts[sample.leaf] + model.completions[sample.leaf]
        kept = [token for token, mask in zip(_response(sample), sample.loss_mask, strict=True) if mask]
        path = sample.metadata["leaf"]["path_node_ids"]  # type: ignore[index,call-overload]
        assert kept == [token for node in path for token in model.completions[node]]


def _response(sample: Any) -> Any:
    return sample.tokens[len(sample.tokens) - sample.response_length :]


def test_memory_grows_with_tokens_and_not_with_turns_squared() -> None:
    transcript = Transcript(Session(renderer_of("qwen3"), HistoryPolicy.LINEAR, max_turns=400))
    messages = [user("x" * 1000)]
    for number in range(300):
        reply = assistant(f"reply {number}")
        transcript.turn(messages, reply)
        messages = [*messages, reply, tool("y" * 100)]
    tree = transcript.session.tree

    stored = sum(len(turn.prompt_delta) + len(turn.completion.ids) for turn in tree)
    assert stored == len(tree.ids(transcript.session.head))
    assert sum(len(turn.messages) for turn in tree) == len(messages) - 1
