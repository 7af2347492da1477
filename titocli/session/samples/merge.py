"""One sample out of the turns of a path."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

from titocli.jsonvalue import JsonObject, JsonValue
from titocli.session.generation import ReplayKind
from titocli.session.samples.parts import TurnPart
from titocli.session.samples.replay_rows import replay_rows, until_gap
from titocli.session.samples.sample import PrefixCache, Sample, SampleStatus, TurnSpan, WeightSpan
from titocli.tokens.ids import TokenIds, token_ids
from titocli.tokens.tokenizer import Tokenizer


@dataclass(slots=True)
class _Columns:
    """What has one entry a token; mask and log-probs begin after the first prompt."""

    tokens: TokenIds = field(default_factory=token_ids)
    loss_mask: bytearray = field(default_factory=bytearray)
    log_probs: array[float] = field(default_factory=lambda: array("d"))
    texts: list[str] = field(default_factory=list)

    def observe(self, ids: TokenIds, tokenizer: Tokenizer) -> None:
        """Add what the model read between two of its turns; nothing of it is trained."""
        self.tokens.extend(ids)
        self.loss_mask.extend(bytes(len(ids)))
        self.log_probs.extend([0.0] * len(ids))
        self.texts.append(tokenizer.decode(ids))

    def sample(self, part: TurnPart, tokenizer: Tokenizer) -> None:
        """Add what the model wrote."""
        completion = part.turn.completion
        ids = completion.ids[: part.kept]
        self.tokens.extend(ids)
        self.loss_mask.extend(b"\x01" * part.kept)
        self.log_probs.extend(completion.log_probs[: part.kept])
        self.texts.append(tokenizer.decode(ids))


def merge(leaf: int, parts: Sequence[TurnPart], tokenizer: Tokenizer, metadata: JsonObject) -> Sample:
    """The sample of a leaf: its parts up to the first that cannot be continued.

    A truncated turn ends it, and so does a turn after which replay data is missing.  Between two turns stands
    what the second prompt has beyond the first turn: mask 0, log-prob 0.0.
    """
    used = parts[: until_gap(parts)]
    columns = _columns(used, tokenizer)
    return Sample(
        leaf=leaf,
        tokens=columns.tokens,
        response_length=len(columns.loss_mask),
        response="".join(columns.texts),
        loss_mask=bytes(columns.loss_mask),
        rollout_log_probs=columns.log_probs,
        routed_experts=replay_rows(used, ReplayKind.ROUTED_EXPERTS),
        indexer_topk=replay_rows(used, ReplayKind.INDEXER_TOPK),
        status=SampleStatus.TRUNCATED if used[-1].truncated else SampleStatus.COMPLETED,
        turns=tuple(
            TurnSpan(
                node_id=part.turn.id,
                response_id=part.turn.completion.response_id,
                start=part.turn.prompt_length,
                end=part.end,
            )
            for part in used
        ),
        weight_versions=tuple(span for part in used for span in _weight_spans(part)),
        prefix_cache=PrefixCache(
            cached_tokens=sum(part.turn.completion.cached_tokens or 0 for part in used),
            total_prompt_tokens=sum(part.turn.prompt_length for part in used),
        ),
        metadata={**metadata, "turns": [_turn(part) for part in used], "lifecycle": _lifecycle(used)},
    )


def _columns(parts: Sequence[TurnPart], tokenizer: Tokenizer) -> _Columns:
    columns = _Columns(tokens=parts[0].turn.prompt_delta[:])
    columns.sample(parts[0], tokenizer)
    for part in parts[1:]:
        columns.observe(part.turn.prompt_delta, tokenizer)
        columns.sample(part, tokenizer)
    return columns


def _weight_spans(part: TurnPart) -> list[WeightSpan]:
    """The engine's spans, which count from the completion's first id, in the sample's own positions."""
    first = part.turn.prompt_length
    return [
        WeightSpan(version=span.version, start=first + span.start, end=min(first + span.end, part.end))
        for span in part.turn.completion.weight_versions
        if span.start < part.kept
    ]


def _turn(part: TurnPart) -> JsonObject:
    completion = part.turn.completion
    return {
        "node_id": part.turn.id,
        "completion_span": [part.turn.prompt_length, part.end],
        "finish_reason": completion.finish_reason.value,
        "response_id": completion.response_id,
        "parse_attempts": list(completion.parse_attempts),
    }


def _lifecycle(parts: Sequence[TurnPart]) -> list[JsonObject]:
    """When each turn was asked for and done, in seconds since the epoch; turns count from 1."""
    return [
        {
            "turn": number,
            "req_ts": part.turn.requested_at,
            "t0": _began(part),
            "t1": part.turn.committed_at,
            "prev_t1": None if number == 1 else parts[number - 2].turn.committed_at,
        }
        for number, part in enumerate(parts, start=1)
    ]


def _began(part: TurnPart) -> JsonValue:
    """When the engine began, where it says how long it took."""
    latency = part.turn.completion.metadata.get("e2e_latency")
    return part.turn.committed_at - latency if isinstance(latency, float | int) else None


__all__ = ["merge"]
