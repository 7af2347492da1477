"""Renders in each format of ``titocli render``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from titocli.cli.format_names import Format
from titocli.cli.rendering import Render
from titocli.errors import MissingTokenizer
from titocli.families.family import Family
from titocli.jsonvalue import JsonObject
from titocli.report.render_table import RenderPage, draw_renders
from titocli.report.result import Body, Envelope
from titocli.tokens.tokenizer import Tokenizer


def refuse_without_tokenizer(wanted: Format, family: Family) -> None:
    """Raise for a format of ids where no tokenizer was given."""
    if wanted not in (Format.IDS, Format.TOKENS):
        return
    example = next((checkpoint.name for checkpoint in family.checkpoints), "owner/name")
    raise MissingTokenizer(
        f"--format {wanted} needs a tokenizer",
        hint=f"give a directory, a tokenizer.json or a Hugging Face id: --tokenizer {example}",
        details={"family": family.name},
    )


def body_of(
    renders: Sequence[Render], wanted: Format, *, one_a_line: bool, tokenizer: Tokenizer | None
) -> Body:
    """All renders of one run in one format."""
    if wanted is Format.JSON:
        return Envelope(data_of(renders, one_a_line=one_a_line, tokenizer=tokenizer))
    if wanted is Format.TABLE:
        return draw_renders([_page(render, tokenizer) for render in renders])
    return bytes_of(renders, wanted)


def bytes_of(renders: Sequence[Render], wanted: Format) -> bytes:
    """All renders as ids or tokens, else as text: what is compared with a file."""
    if wanted is Format.IDS:
        return "".join(f"{json.dumps(render.encoded[0])}\n" for render in renders).encode()
    if wanted is Format.TOKENS:
        return "\n".join(map(_token_lines, renders)).encode()
    return b"".join(render.text.encode() for render in renders)


def data_of(renders: Sequence[Render], *, one_a_line: bool, tokenizer: Tokenizer | None) -> JsonObject:
    """All renders as JSON data: of a document its own, of JSONL a list."""
    data = [_data(render, tokenizer) for render in renders]
    return {"renders": data} if one_a_line else data[0]


def _data(render: Render, tokenizer: Tokenizer | None) -> JsonObject:
    """One render as JSON data."""
    ids = None if tokenizer is None else render.encoded[0]
    return {
        "family": render.renderer.family.name,
        "variant": render.renderer.family.variant,
        "template": render.renderer.template.source.name,
        "template_sha256": render.renderer.template.source.sha256,
        "text": render.text,
        "ids": ids,
        "n_tokens": None if ids is None else len(ids),
        "spans": [asdict(span) for span in render.spans(tokenizer=tokenizer)],
        "kwargs": dict(render.kwargs),
        "generation_prompt": render.generation_prompt,
    }


def _token_lines(render: Render) -> str:
    tokenizer = render.renderer.tokenizer
    return "".join(
        f"{token}\t{json.dumps(tokenizer.decode([token]), ensure_ascii=False)}\n"
        for token in render.encoded[0]
    )


def _page(render: Render, tokenizer: Tokenizer | None) -> RenderPage:
    return RenderPage(
        title=render.place,
        family=render.renderer.family.name,
        template=render.renderer.template.source.name,
        text=render.text,
        n_tokens=None if tokenizer is None else len(render.encoded[0]),
        spans=render.spans(tokenizer=tokenizer),
        kwargs=render.kwargs,
    )


__all__ = ["body_of", "bytes_of", "data_of", "refuse_without_tokenizer"]
