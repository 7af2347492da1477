"""``--list-checks`` and ``--explain``: what ``verify-template`` checks, without checking anything."""

from __future__ import annotations

from textwrap import fill

from titocli.cli.verify_names import check_named
from titocli.jsonvalue import JsonObject
from titocli.report.result import Envelope, Result
from titocli.verify.checks.pages import PAGES, CheckPage

#: Columns of a page.
_WIDTH = 88


def checks_result(*, json_asked: bool) -> Result:
    """Every check with its line."""
    if json_asked:
        listed = [{"id": page.id.value, "summary": page.summary} for page in PAGES.values()]
        return Result(body=Envelope({"checks": listed}))
    width = max(len(name) for name in PAGES)
    lines = (f"{page.id.value:<{width}}  {page.summary}\n" for page in PAGES.values())
    return Result(body="".join(lines).encode())


def page_result(name: str, *, json_asked: bool) -> Result:
    """The page of one check; raises ``UnknownName``."""
    page = PAGES[check_named(name)]
    return Result(body=Envelope(_data(page)) if json_asked else _text(page).encode())


def _data(page: CheckPage) -> JsonObject:
    return {
        "id": page.id.value,
        "summary": page.summary,
        "what": page.what,
        "why": page.why,
        "fix": page.fix,
    }


def _text(page: CheckPage) -> str:
    parts = [f"{page.id.value}: {page.summary}"]
    for title, text in (("What is checked", page.what), ("Why", page.why), ("How to fix it", page.fix)):
        # No word is broken: names and options are there to be copied.
        told = fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
        parts.append(f"{title}\n{told}")
    return "\n\n".join(parts) + "\n"


__all__ = ["checks_result", "page_result"]
