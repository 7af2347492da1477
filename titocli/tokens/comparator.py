"""Compares stored ids with the ids of a canonical render, segment by segment.

Special tokens are segments of their own, runs of other tokens are content segments.  Content is compared as
text: other ids for the same text are no mismatch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from titocli.jsonvalue import JsonObject
from titocli.tokens.tokenizer import Tokenizer

#: Ids at the start of a content segment that are looked at for the assistant's opener.
_OPENER_IDS = 20


class MismatchType(StrEnum):
    """What differs; only ``assistant_text`` is soft: the model spelled something its own way."""

    SPECIAL_TOKEN_COUNT = "special_token_count"
    SPECIAL_TOKEN_TYPE = "special_token_type"
    NON_ASSISTANT_TEXT = "non_assistant_text"
    ASSISTANT_TEXT = "assistant_text"

    @property
    def hard(self) -> bool:
        """Whether it says that rendering or token ownership is wrong."""
        return self is not MismatchType.ASSISTANT_TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One difference; ``segment_index`` is -1 where the structure as a whole differs."""

    type: MismatchType
    segment_index: int
    expected_text: str
    actual_text: str
    detail: str = ""

    def as_json(self) -> JsonObject:
        """The entry of ``tito_session_mismatch``."""
        return {
            "type": self.type.value,
            "segment_index": self.segment_index,
            "expected_text": self.expected_text,
            "actual_text": self.actual_text,
            "detail": self.detail,
        }


@dataclass(frozen=True, slots=True)
class _Segment:
    special: bool
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparator:
    """How one family's ids are compared.

    ``trailing_ids`` are dropped from both ends before comparing.  A content segment belongs to the assistant
    when the special token before it and its own start spell ``assistant_start``; without that, no text
    mismatch is soft.
    """

    tokenizer: Tokenizer
    special_ids: frozenset[int]
    trailing_ids: frozenset[int] = frozenset()
    assistant_start: str | None = None

    def compare(self, *, expected: Sequence[int], actual: Sequence[int]) -> tuple[Mismatch, ...]:
        """The mismatches in order; empty when the sequences say the same."""
        want, have = self._segments(expected), self._segments(actual)
        if [s.special for s in want] != [s.special for s in have]:
            return (self._structure_mismatch(want, have),)
        differing = (index for index in range(len(want)) if self._differs(want[index], have[index]))
        return tuple(self._mismatch(index, want, have) for index in differing)

    def _segments(self, ids: Sequence[int]) -> list[_Segment]:
        end = len(ids)
        while end and ids[end - 1] in self.trailing_ids:
            end -= 1
        cuts = sorted(
            {0, end} | {at + side for at in range(end) if ids[at] in self.special_ids for side in (0, 1)}
        )
        return [_Segment(ids[a] in self.special_ids, tuple(ids[a:b])) for a, b in pairwise(cuts)]

    def _differs(self, want: _Segment, have: _Segment) -> bool:
        if want.ids == have.ids:
            return False
        return want.special or self._text(want) != self._text(have)

    def _mismatch(self, index: int, want: list[_Segment], have: list[_Segment]) -> Mismatch:
        return Mismatch(
            type=self._type(index, want, have),
            segment_index=index,
            expected_text=self._text(want[index]),
            actual_text=self._text(have[index]),
        )

    def _type(self, index: int, want: list[_Segment], have: list[_Segment]) -> MismatchType:
        if want[index].special:
            return MismatchType.SPECIAL_TOKEN_TYPE
        if self._is_assistant(index, want) and self._is_assistant(index, have):
            return MismatchType.ASSISTANT_TEXT
        return MismatchType.NON_ASSISTANT_TEXT

    def _is_assistant(self, index: int, segments: list[_Segment]) -> bool:
        if self.assistant_start is None or index == 0:
            return False
        opener = (*segments[index - 1].ids, *segments[index].ids[:_OPENER_IDS])
        return self.tokenizer.decode(opener).startswith(self.assistant_start)

    def _structure_mismatch(self, want: list[_Segment], have: list[_Segment]) -> Mismatch:
        detail = "segment structure (special/content pattern) differs"
        if len(want) != len(have):
            detail = f"segment count differs: expected {len(want)}, got {len(have)}"
        return Mismatch(
            type=MismatchType.SPECIAL_TOKEN_COUNT,
            segment_index=-1,
            expected_text=self._sketch(want),
            actual_text=self._sketch(have),
            detail=detail,
        )

    def _sketch(self, segments: list[_Segment]) -> str:
        return " ".join(
            f"[{self._text(segment)}]" if segment.special else f"({len(segment.ids)} tokens)"
            for segment in segments
        )

    def _text(self, segment: _Segment) -> str:
        return self.tokenizer.decode(segment.ids)


__all__ = ["Comparator", "Mismatch", "MismatchType"]
