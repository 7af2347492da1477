"""Text with breaks: places that no added token may span.

A break is a lone surrogate, which valid text never holds, so it can be told from every other character.  It
stands in text only on the way from a template to ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

BREAK = "\udfff"


def without_breaks(text: str) -> str:
    """The text itself."""
    return text.replace(BREAK, "")


def split_at_breaks(text: str, added_tokens: re.Pattern[str]) -> Iterator[str]:
    """The text in pieces: what has no break, and what lies around one between two added tokens."""
    start = cut = 0
    for match in added_tokens.finditer(text):
        if BREAK in text[cut : match.start()]:
            yield text[start:cut]
            yield text[cut : match.start()]
            start = match.start()
        cut = match.end()
    if BREAK in text[cut:]:
        yield text[start:cut]
        start = cut
    yield text[start:]


__all__ = ["BREAK", "split_at_breaks", "without_breaks"]
