"""The part of a long text around the place where it differs."""

from __future__ import annotations

from dataclasses import dataclass

from titocli.report.visible import escaped

#: Characters shown before and after the place.
BEFORE, AFTER = 60, 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What stands before the place and from it on; ``cut_*`` count the characters that are left out."""

    before: str
    after: str
    cut_before: int
    cut_after: int

    @property
    def shown(self) -> str:
        """One line: invisible characters as escapes, the place marked."""
        start = "..." if self.cut_before else ""
        end = "..." if self.cut_after else ""
        return f"{start}{escaped(self.before)}»{escaped(self.after)}{end}"


def passage(text: str, at: int, *, before: int = BEFORE, after: int = AFTER) -> Passage:
    """The passage of ``text`` around character ``at``."""
    start, end = max(0, at - before), min(len(text), at + after)
    return Passage(
        before=text[start:at], after=text[at:end], cut_before=start, cut_after=max(0, len(text) - end)
    )


__all__ = ["Passage", "passage"]
