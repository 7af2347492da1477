"""Text that coding clients put into system text for their provider, other on every request.

It says nothing to a model that is trained here, and it would rewrite the prefix on every turn, so it never
reaches a prompt.  Only system text is searched; what a user or a tool says is never touched.  What is
stripped is exactly ``VOLATILE``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Volatile:
    """A piece of system text that is stripped, with who sends it."""

    name: str
    pattern: re.Pattern[str]
    origin: str


VOLATILE: tuple[Volatile, ...] = (
    Volatile(
        name="billing header",
        pattern=re.compile(r"\Ax-anthropic-billing-header:[^\n]*\n*"),
        origin="Claude Code 2.1: the first line of the first system block, with a hash of the request",
    ),
    Volatile(
        name="tokens left",
        pattern=re.compile(r"<total_tokens>\s*\d+ tokens left\s*</total_tokens>\n*"),
        origin="Claude Code 2.1: a reminder among the system text, counted down on every turn",
    ),
)


def without_volatile(text: str) -> str:
    """A block of system text without the pieces that change on every request."""
    for volatile in VOLATILE:
        text = volatile.pattern.sub("", text)
    return text


__all__ = ["VOLATILE", "Volatile", "without_volatile"]
