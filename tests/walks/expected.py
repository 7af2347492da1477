"""What a session must show and train, computed from plain lists of its turns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.session.naive import NaiveSession
from titocli.session.generation import Completion


@dataclass
class Expected:
    """The model of a session, with the completion of each of its turns."""

    naive: NaiveSession
    completions: list[Completion] = field(default_factory=list)

    def check_view(self, view: Any) -> None:
        """``GET /sessions/{id}`` shows the model: tree, records of the head's path, stored ids."""
        naive, metadata = self.naive, view["metadata"]
        assert [self._node(node) for node in metadata["tree"]["nodes"]] == [
            self._own_node(turn) for turn in range(len(naive.turns))
        ]
        path = naive.path(naive.head)
        assert [leaf["node_id"] for leaf in metadata["tree"]["leaves"]] == self.leaves()
        assert [self._record(record) for record in view["records"]] == [
            self._own_record(turn) for turn in path
        ]
        assert metadata["accumulated_token_ids"] == (naive.turns[path[-1]].ids if path else [])

    @staticmethod
    def _node(node: Any) -> Any:
        names = ("id", "parent", "truncated", "completion_span", "num_tokens", "finish_reason")
        return {name: node[name] for name in names}

    def _own_node(self, turn: int) -> Any:
        own = self.naive.turns[turn]
        return {
            "id": turn,
            "parent": own.parent,
            "truncated": own.truncated,
            "completion_span": [len(own.prompt), len(own.ids)],
            "num_tokens": len(own.ids),
            "finish_reason": self.completions[turn].finish_reason.value,
        }

    @staticmethod
    def _record(record: Any) -> Any:
        asked, told = record["request"], record["response"]
        return (
            asked["messages"],
            asked["input_ids"],
            told["output_ids"],
            told["output_log_probs"],
            told["choices"][0]["message"],
            record["path"],
        )

    def _own_record(self, turn: int) -> Any:
        own, completion = self.naive.turns[turn], self.completions[turn]
        return (
            own.messages[:-1],
            own.prompt,
            own.completion,
            completion.log_probs.tolist(),
            own.messages[-1],
            "/v1/chat/completions",
        )

    def leaves(self) -> list[int]:
        """Every turn without children, or the head of a line."""
        naive = self.naive
        if naive.linear:
            return [] if naive.head is None else [naive.head]
        parents = {turn.parent for turn in naive.turns}
        return [turn for turn in range(len(naive.turns)) if turn not in parents]

    def check_samples(self, samples: Any) -> None:
        """``GET /sessions/{id}/samples``: longer paths first, retries dropped, each completion trained once."""
        kept = [leaf for leaf in self.leaves() if not self._retried(leaf)]
        kept.sort(key=lambda leaf: (-len(self.naive.path(leaf)), -leaf))
        assert [sample["metadata"]["leaf"]["node_id"] for sample in samples] == kept
        owners = {turn: leaf for leaf in sorted(kept, reverse=True) for turn in self._trained(leaf)}
        for leaf, sample in zip(kept, samples, strict=True):
            self._check_sample(leaf, sample, owners)

    def _retried(self, leaf: int) -> bool:
        turns = self.naive.turns
        own = turns[leaf]
        later = turns[leaf + 1 :]
        return any(turn.parent == own.parent and turn.prompt == own.prompt for turn in later)

    def _trained(self, leaf: int) -> list[int]:
        """The turns of a path up to the first that was cut."""
        path = self.naive.path(leaf)
        cut = [at for at, turn in enumerate(path) if self.naive.turns[turn].truncated]
        return path[: cut[0] + 1] if cut else path

    def _check_sample(self, leaf: int, sample: Any, owners: dict[int, int]) -> None:
        path = self._trained(leaf)
        last = self.naive.turns[path[-1]]
        whole = self.naive.path(leaf)
        # A follower's prompt tells whether the last id was dropped at the boundary.
        follower = whole[len(path)] if len(path) < len(whole) else None
        tokens = last.ids if follower is None else self._kept(path[-1], follower)
        mask, log_probs = [0] * len(tokens), [0.0] * len(tokens)
        for at, turn in enumerate(path):
            start = len(self.naive.turns[turn].prompt)
            end = len(tokens if at == len(path) - 1 else self._kept(turn, path[at + 1]))
            log_probs[start:end] = self.completions[turn].log_probs.tolist()[: end - start]
            mask[start:end] = [int(owners[turn] == leaf)] * (end - start)
        first = len(self.naive.turns[path[0]].prompt)
        assert sample["tokens"] == tokens
        assert sample["response_length"] == len(tokens) - first
        assert sample["loss_mask"] == mask[first:]
        assert sample["rollout_log_probs"] == log_probs[first:]
        assert sample["status"] == ("truncated" if last.truncated else "completed")

    def _kept(self, turn: int, follower: int) -> list[int]:
        """The ids of a turn that are in the prompt of the one after it."""
        ids, prompt = self.naive.turns[turn].ids, self.naive.turns[follower].prompt
        return ids if prompt[: len(ids)] == ids and self._kept_whole(turn) else ids[:-1]

    def _kept_whole(self, turn: int) -> bool:
        return self.naive.kept_ids(turn)[: len(self.naive.turns[turn].ids)] == self.naive.turns[turn].ids


__all__ = ["Expected"]
