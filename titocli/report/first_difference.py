"""Where two texts part, in words that show what a line does not: spaces at its end, kinds of spaces."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from titocli.jsonvalue import JsonObject
from titocli.report.visible import escaped

_BEFORE = 12
_AFTER = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstDifference:
    """The first place at which ``ours`` is not ``theirs``: excerpts around it, escaped.

    ``character`` and ``byte`` (of UTF-8) count from 0 and are the same in both; ``token`` and ``message`` are
    those of our render, None where they are not known.
    """

    place: str
    character: int
    byte: int
    ours: str
    theirs: str
    token: int | None = None
    message: int | None = None

    def in_tokens(self, offsets: Sequence[tuple[int, int]]) -> FirstDifference:
        """With the token at the place; ``offsets`` are the characters that each token of our text covers."""
        starts = [start for start, _ in offsets]
        return replace(self, token=max(0, bisect_right(starts, self.character) - 1))

    def in_message(self, message: int | None) -> FirstDifference:
        """With the message at the place."""
        return replace(self, message=message)

    def as_json(self) -> JsonObject:
        """The fields by their names."""
        return {name: getattr(self, name) for name in self.__slots__}

    def line(self, theirs_name: str) -> str:
        """One line for a person."""
        token = "" if self.token is None else f", token {self.token}"
        message = "" if self.message is None else f", message {self.message}"
        where = f"character {self.character} (byte {self.byte}{token}{message})"
        return f"{self.place} first differs at {where}: '{self.ours}' here, '{self.theirs}' in {theirs_name}"


def first_difference(place: str, ours: str, theirs: str) -> FirstDifference | None:
    """Where two texts part, None for equal ones."""
    if ours == theirs:
        return None
    at = _shared_length(ours, theirs)
    return FirstDifference(
        place=place,
        character=at,
        byte=len(ours[:at].encode("utf-8", "surrogatepass")),
        ours=_excerpt(ours, at),
        theirs=_excerpt(theirs, at),
    )


def _shared_length(left: str, right: str) -> int:
    shorter = min(len(left), len(right))
    return next((at for at in range(shorter) if left[at] != right[at]), shorter)


def _excerpt(text: str, at: int) -> str:
    return escaped(text[max(0, at - _BEFORE) : at + _AFTER])


__all__ = ["FirstDifference", "first_difference"]
