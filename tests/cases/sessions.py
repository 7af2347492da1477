"""What the case tests about sessions share: a session driven turn by turn, for every contract."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

from tests.cases.rendering import renderer_of
from titocli.session.arguments import TurnRequest
from titocli.session.generation import Completion, FinishReason
from titocli.session.history import HistoryPolicy
from titocli.session.matching import STRICT, Matcher
from titocli.session.session import Plan, Session
from titocli.session.tree import Turn
from titocli.tokens.ids import token_ids

#: Ids of a completion that no tokenizer would spell so: two halves of a word, and a stop token.
ODD_IDS = (104, 105, 32, 33, 255)


def session_of(
    label: str, *, policy: HistoryPolicy = HistoryPolicy.TREE, matcher: Matcher = STRICT
) -> Session:
    return Session(renderer_of(label), policy, matcher=matcher)


def plan_of(session: Session, messages: Sequence[Any], **asked: Any) -> Plan:
    return session.plan(TurnRequest(messages=messages, **asked))


def turn(
    session: Session, messages: Sequence[Any], reply: Any, *, ids: Sequence[int] | None = None, **asked: Any
) -> Turn:
    """Plan ``messages`` and commit ``reply``, sampled as ``ids`` (odd ones and a stop token without)."""
    plan = plan_of(session, messages, **asked)
    sampled = [*ODD_IDS, stop_id(session)] if ids is None else list(ids)
    completion = Completion(
        ids=token_ids(sampled),
        log_probs=array("d", [-0.5] * len(sampled)),
        finish_reason=FinishReason.STOP,
        message=reply,
        response_id=f"r{len(session.tree)}",
        model="scripted",
    )
    return session.commit(plan, completion, requested_at=1.0, committed_at=2.0)


def stop_id(session: Session) -> int:
    found = session.renderer.tokenizer.token_id(session.renderer.family.stop_tokens[0])
    assert found is not None
    return found


def kept(session: Session, parent: Turn, plan: Plan) -> bool:
    """Whether the prompt of ``plan`` starts with all that ``parent`` holds, but for the boundary's trim."""
    stored = list(session.tree.ids(parent.id))
    stored = stored[: len(stored) - plan.trim]
    return plan.parent == parent.id and list(plan.prompt_ids[: len(stored)]) == stored
