"""What becomes of control tokens in client text; apart, for the command line knows it without a tokenizer."""

from __future__ import annotations

from enum import StrEnum


class ControlTokens(StrEnum):
    """What becomes of control tokens that client text spells."""

    #: They are encoded as the text that they are.
    TEXT = "text"
    #: They become tokens, as plain rendering makes them.
    KEEP = "keep"
    #: The request is refused.
    REJECT = "reject"


__all__ = ["ControlTokens"]
