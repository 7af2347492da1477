"""``render --against`` and ``--check``: the conversation by another template, or as a file has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from titocli.cli.rendering import Render, checkpoint_template
from titocli.errors import InvalidOption, UnreadableFile
from titocli.families.chat_template import compile_template
from titocli.families.renderer import Renderer
from titocli.families.template_source import TemplateSource, template_from_file
from titocli.jsonvalue import JsonObject
from titocli.report.difference import unified

NATIVE = "hf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What a render was compared with, and the unified difference ("" when there is none)."""

    name: str
    difference: str

    @property
    def is_same(self) -> bool:
        """Whether nothing differs."""
        return not self.difference

    @property
    def data(self) -> JsonObject:
        """The comparison as JSON data."""
        return {"with": self.name, "same": self.is_same, "diff": self.difference}


def compare_templates(renders: Sequence[Render], against: str, tokenizer: str | None) -> Comparison:
    """The renders by the template ``against`` names (``hf``: the checkpoint's own), against the family's."""
    source = _source(against, tokenizer)
    differences = []
    for render in renders:
        other = Renderer(render.renderer.family, compile_template(source))
        label = f" ({render.place})" if len(renders) > 1 else ""
        names = f"{source.name}{label}", f"{render.renderer.template.source.name}{label}"
        differences.append(unified(render.text_by(other), render.text, *names))
    return Comparison(name=source.name, difference="".join(differences))


def _source(against: str, tokenizer: str | None) -> TemplateSource:
    if against != NATIVE:
        return template_from_file(Path(against))
    if tokenizer is None:
        raise InvalidOption(
            "--against hf needs --tokenizer", hint="the checkpoint's own template lies beside its tokenizer"
        )
    return checkpoint_template(tokenizer)


def compare_file(rendered: bytes, path: Path) -> Comparison:
    """The bytes of a file against those of a render."""
    try:
        expected = path.read_bytes()
    except OSError as error:
        raise UnreadableFile(f"cannot read {path}: {error.strerror}", hint="check the path") from error
    if expected == rendered:
        return Comparison(name=str(path), difference="")
    return Comparison(
        name=str(path), difference=unified(_shown(expected), _shown(rendered), str(path), "render")
    )


def _shown(data: bytes) -> str:
    return data.decode(errors="backslashreplace")


__all__ = ["NATIVE", "Comparison", "compare_file", "compare_templates"]
