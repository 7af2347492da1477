"""A render as a table: one row a span, its text made visible."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from titocli.families.spans import Span, SpanKind
from titocli.jsonvalue import JsonValue
from titocli.report.result import Drawing
from titocli.report.visible import escaped, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

_ROLE_STYLES = {"system": "yellow", "user": "green", "assistant": "blue", "tool": "magenta"}
#: Columns that the number, the role and the count take beside the text.
_FIXED_WIDTH = 27
#: Lines of a cell's text before it is cut in the middle.
_LINES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderPage:
    """What the table of one render shows; ``n_tokens`` is None without a tokenizer."""

    title: str
    family: str
    template: str
    text: str
    n_tokens: int | None
    spans: Sequence[Span]
    kwargs: Mapping[str, JsonValue]


def draw_renders(pages: Sequence[RenderPage]) -> Drawing:
    """A drawing of one table a render."""

    def draw(console: Console) -> None:
        for page in pages:
            if len(pages) > 1:
                console.print(f"\n {escaped(page.title)}", style="bold")
            console.print(_table(page, console.width))
            console.print(_summary(page))

    return draw


def _table(page: RenderPage, width: int) -> Table:
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415 - rich is only loaded where something is drawn
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=SIMPLE_HEAD, expand=True, pad_edge=False, header_style="bold")
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("role", no_wrap=True)
    table.add_column("chars" if page.n_tokens is None else "tokens", justify="right", no_wrap=True)
    table.add_column("text", ratio=1, overflow="fold")
    limit = max(20, _LINES * (width - _FIXED_WIDTH))
    for span in page.spans:
        table.add_row(_number(span), _role(span), f"{_size(span):,}", visible(_text(page, span), limit))
    return table


def _number(span: Span) -> str:
    return "" if span.message is None else str(span.message)


def _role(span: Span) -> Text:
    from rich.text import Text  # noqa: PLC0415 - as above

    style = _ROLE_STYLES.get(span.role, "")
    if span.kind is SpanKind.GENERATION_PROMPT:
        return Text("(prompt)", style=f"italic {style}")
    return Text(escaped(span.role), style=style)


def _size(span: Span) -> int:
    if span.start is None or span.end is None:
        return span.text_end - span.text_start
    return span.end - span.start


def _text(page: RenderPage, span: Span) -> str:
    return page.text[span.text_start : span.text_end]


def _summary(page: RenderPage) -> Text:
    from rich.text import Text  # noqa: PLC0415 - as above

    counts = [f"{len(page.spans)} spans", f"{len(page.text):,} characters"]
    if page.n_tokens is not None:
        counts.insert(1, f"{page.n_tokens:,} tokens")
    kwargs = ", ".join(f"{name}={json.dumps(value)}" for name, value in page.kwargs.items()) or "none"
    summary = Text.assemble(" total   ", (" · ".join(counts), "bold"), "\n")
    summary.append(f" family  {page.family} · template {escaped(page.template)}\n")
    summary.append(f" kwargs  {escaped(kwargs)}")
    return summary


__all__ = ["RenderPage", "draw_renders"]
