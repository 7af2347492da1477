"""Families for people: the table of all, the page of one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from titocli.jsonvalue import JsonObject
from titocli.report.result import Drawing
from titocli.report.visible import escaped

if TYPE_CHECKING:
    from rich.console import Console


_TOOL_RUNS = {
    "any": "appended as they come",
    "complete": "appended once a run answers every call, for the template writes a run as one piece",
}


def draw_families(families: Sequence[JsonObject]) -> Drawing:
    """A drawing of one row a family."""

    def draw(console: Console) -> None:
        from rich.box import SIMPLE_HEAD  # noqa: PLC0415 - rich is only loaded where something is drawn
        from rich.table import Table  # noqa: PLC0415

        table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
        table.add_column("family", style="cyan", no_wrap=True)
        for title in ("models", "variants", "template", "origin"):
            table.add_column(title, overflow="fold")
        for family in families:
            table.add_row(
                str(family["name"]),
                str(family["summary"]),
                ", ".join(_variant_names(family)),
                Path(_template_name(family)).name,
                str(family["origin"]),
            )
        console.print(table)
        console.print(" all of one: titocli families show NAME", style="dim")

    return draw


def draw_family(family: JsonObject) -> Drawing:
    """A drawing of everything about one family."""

    def draw(console: Console) -> None:
        from rich.table import Table  # noqa: PLC0415 - as above
        from rich.text import Text  # noqa: PLC0415

        console.print(Text.assemble((str(family["name"]), "bold cyan"), f"  {family['summary']}"))
        sections = [*_sections(family), *_differing_variants(family)]
        page = Table.grid(padding=(0, 1))
        page.add_column(style="bold", no_wrap=True)
        page.add_column(overflow="fold")
        for title, lines in sections:
            page.add_row(title, Text("\n".join(lines or ["none"])))
        console.print(page)

    return draw


def _differing_variants(family: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[str]]]:
    """For each variant, the sections in which it differs from the family itself."""
    own = dict(_sections(family))
    for name, variant in family.get("variants", {}).items():
        differing = [
            (title, lines or ["none"])
            for title, lines in _sections(variant)
            if title != "variant" and lines != own.get(title)
        ]
        yield (
            f"variant {name}",
            [variant["summary"], *(f"{title}: {line}" for title, lines in differing for line in lines)],
        )


def _variant_names(family: Mapping[str, Any]) -> list[str]:
    first = [] if family["variant"] is None else [str(family["variant"])]
    return [*first, *family.get("variants", {})]


def _sections(family: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[str]]]:
    yield "origin", [str(family["origin"])]
    if family["variant"] is not None:
        yield "variant", [str(family["variant"])]
    yield (
        "checkpoints",
        [
            f"{checkpoint['name']}  (template {_short(checkpoint['template_sha256'])})"
            for checkpoint in family["checkpoints"]
        ],
    )
    template = family["template"]
    yield "template", [_template_name(family)]
    yield "sha256", [] if template is None else [template["sha256"]]
    yield "fixed kwargs", [f"{name}={json.dumps(value)}" for name, value in family["fixed_kwargs"].items()]
    yield (
        "default kwargs",
        [f"{name}={json.dumps(value)}" for name, value in family["default_kwargs"].items()],
    )
    yield "pinned kwargs", _choices(family["pinned_kwargs"])
    yield "turn kwargs", _choices(family["turn_kwargs"])
    yield "kwarg names", [_alias(name, meant) for name, meant in family["kwarg_aliases"].items()]
    yield "effort numbers", [_range(least, most) for least, most in family["effort_numbers"]]
    yield "refused kwargs", [f"{name}: {reason}" for name, reason in family["refused_kwargs"].items()]
    yield "append roles", [", ".join(family["append_roles"])]
    yield "tool results", [_TOOL_RUNS[family["tool_runs"]]]
    yield "content parts", [", ".join(family["content_parts"])]
    yield "boundary", [_boundary(family["boundary"])]
    yield "suffix base", [family["suffix_base"]]
    yield "parsers", [f"{name}: {parser or 'none'}" for name, parser in family["parsers"].items()]
    yield "stop tokens", [", ".join(family["stop_tokens"]) or "none"]
    yield "assistant start", [escaped(family["assistant_start"] or "none")]
    yield (
        "deviations",
        [
            f"{number}. {deviation['what']}; why: {deviation['why']}"
            for number, deviation in enumerate(family["deviations"], start=1)
        ],
    )


def _template_name(family: Mapping[str, Any]) -> str:
    template, encoder = family["template"], family["encoder"]
    if encoder is not None:
        return f"encoder {encoder}"
    return "the checkpoint's own" if template is None else str(template["file"])


def _short(sha256: str | None) -> str:
    return "hash unknown" if sha256 is None else f"sha256 {sha256[:12]}…"


def _choices(kwargs: Mapping[str, Sequence[Any]]) -> list[str]:
    return [f"{name}: {', '.join(map(json.dumps, values)) or 'any'}" for name, values in kwargs.items()]


def _range(least: float, most: float) -> str:
    return f"{least:g} to {most:g}" + (", whole" if isinstance(least, int) else "")


def _alias(name: str, meant: Mapping[str, Any]) -> str:
    words = ", ".join(f"{word} is {json.dumps(value)}" for word, value in meant["values"].items())
    return f"{name}: {meant['kwarg']}" + (f" ({words})" if words else "")


def _boundary(rule: Mapping[str, Any]) -> str:
    if rule["rule"] == "glue":
        return f"glue: {escaped(rule['text'])} is inserted after {rule['after']}"
    if rule["rule"] == "trim":
        return f"trim: a trailing {' or '.join(rule['tokens'])} is dropped"
    return "concatenate: appended ids follow as they are"


__all__ = ["draw_families", "draw_family"]
