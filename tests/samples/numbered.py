"""Sessions made of small numbers: turns as (prompt ids, output ids), as a specification writes them."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.session.conftest import renderer_of
from titocli.families.boundary import BoundaryIds
from titocli.jsonvalue import JsonObject
from titocli.session.arguments import TurnArguments
from titocli.session.generation import (
    Completion,
    FinishReason,
    ReplayKind,
    ReplayPayload,
    WeightVersion,
)
from titocli.session.history import HistoryPolicy
from titocli.session.samples import SampleSet, collect_samples
from titocli.session.samples.assembly import SampleRequest
from titocli.session.samples.hooks import SampleHooks
from titocli.session.session import Session
from titocli.session.tree import Turn
from titocli.tokens.ids import token_ids
from titocli.wire.session_view import session_metadata

#: A stop token that the next message opens with, as GLM's.
STOP = 99


@dataclass
class Numbered:
    """A tree session whose turns are appended as numbers."""

    session: Session = field(default_factory=lambda: _session(HistoryPolicy.TREE))
    clock: float = 0.0

    def turn(
        self,
        prompt: Sequence[int],
        output: Sequence[int],
        *,
        parent: int | None = None,
        finish: FinishReason = FinishReason.STOP,
        log_probs: Sequence[float] | None = None,
        replay: dict[ReplayKind, ReplayPayload] | None = None,
        weights: Sequence[tuple[str, int, int]] = (),
        cached: int | None = None,
        metadata: JsonObject | None = None,
        response_id: str = "r",
    ) -> Turn:
        """Append a turn; what of the parent's ids the prompt does not repeat was trimmed."""
        self.clock += 1
        tree = self.session.tree
        before = tree.ids(parent)
        shared = next(
            (n for n, pair in enumerate(zip(before, prompt, strict=False)) if pair[0] != pair[1]), None
        )
        kept = min(len(before), len(prompt)) if shared is None else shared
        turn = Turn(
            id=len(tree),
            parent=parent,
            messages=({"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}),
            message_count=2 * (1 + len(tree.path(parent))),
            trim=len(before) - kept,
            prompt_delta=token_ids(prompt[kept:]),
            prompt_length=len(prompt),
            completion=Completion(
                ids=token_ids(output),
                log_probs=array("d", log_probs if log_probs is not None else [-0.5] * len(output)),
                finish_reason=finish,
                message={"role": "assistant", "content": "a"},
                response_id=response_id,
                model="m",
                cached_tokens=cached,
                weight_versions=tuple(WeightVersion(version=v, start=s, end=e) for v, s, e in weights),
                replay=replay or {},
                metadata=metadata or {},
            ),
            arguments=TurnArguments(template_kwargs={}, tools=(), options={}),
            requested_at=self.clock,
            committed_at=self.clock + 0.5,
        )
        tree.append(turn)
        self.session.head = turn.id
        return turn

    def line(self, *turns: tuple[Sequence[int], Sequence[int]]) -> None:
        """Append turns, each under the one before."""
        for prompt, output in turns:
            self.turn(prompt, output, parent=self.session.head)

    def collect(
        self,
        *,
        max_seq_len: int | None = None,
        agent: JsonObject | None = None,
        hooks: SampleHooks | None = None,
    ) -> SampleSet:
        """The samples of the session."""
        return collect_samples(
            self.session,
            session_metadata(self.session),
            request=SampleRequest(max_seq_len=max_seq_len, agent_metadata=agent or {}),
            hooks=hooks,
        )


def _session(policy: HistoryPolicy) -> Session:
    session = Session(renderer_of("qwen3"), policy)
    # GLM's rule on small numbers.
    session.renderer._boundary = BoundaryIds(trim_ids=frozenset({STOP}))
    return session


def linear() -> Numbered:
    return Numbered(_session(HistoryPolicy.LINEAR))


def rows(numbers: Sequence[int], *, start: int | None, layers: int = 2, top_k: int = 3) -> ReplayPayload:
    """A payload whose rows are made of these numbers, each repeated over layers and experts."""
    values = [10 * number + place for number in numbers for place in range(layers * top_k)]
    return ReplayPayload(data=struct.pack(f"<{len(values)}i", *values), start=start, layers=layers)


def experts(numbers: Sequence[int], *, start: int | None) -> dict[ReplayKind, ReplayPayload]:
    return {ReplayKind.ROUTED_EXPERTS: rows(numbers, start=start)}
