"""``render --against`` and ``--check``: the conversation by another template, or as a file has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from titocli.cli.family_choice import checkpoint_template_if_any
from titocli.cli.rendering import Render, TemplateChoice, checkpoint_template
from titocli.errors import InvalidOption, UnreadableFile
from titocli.families.chat_template import ConversationTemplate, compile_template
from titocli.families.encoders import encoder_template
from titocli.families.renderer import Renderer
from titocli.families.template_source import template_from_file
from titocli.jsonvalue import JsonObject
from titocli.report.difference import unified
from titocli.report.first_difference import FirstDifference, first_difference
from titocli.report.result import Notice

NATIVE = "hf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What a render was compared with, and the unified difference ("" when there is none).

    ``firsts`` are the places at which renders that differ do so first.
    """

    name: str
    difference: str
    firsts: tuple[FirstDifference, ...] = ()
    warnings: tuple[Notice, ...] = ()

    @property
    def is_same(self) -> bool:
        """Whether nothing differs."""
        return not self.difference

    @property
    def data(self) -> JsonObject:
        """The comparison as JSON data."""
        return {
            "with": self.name,
            "same": self.is_same,
            "diff": self.difference,
            "first_differences": [first.as_json() for first in self.firsts],
        }


def compare_templates(renders: Sequence[Render], against: str, choice: TemplateChoice) -> Comparison:
    """The renders by the template ``against`` names (``hf``: the checkpoint's own), against the family's."""
    template, warnings = _reference(renders[0].renderer, against, choice)
    differences, firsts = [], []
    for render in renders:
        ours = render.renderer
        theirs = render.text_by(Renderer(ours.family, template, call_ids=ours.call_ids))
        label = f" ({render.place})" if len(renders) > 1 else ""
        names = f"{template.source.name}{label}", f"{ours.template.source.name}{label}"
        differences.append(unified(theirs, render.text, *names))
        firsts.append(_located(render, first_difference(render.place, render.text, theirs)))
    return Comparison(
        name=template.source.name,
        difference="".join(differences),
        firsts=tuple(filter(None, firsts)),
        warnings=warnings,
    )


def _reference(
    renderer: Renderer, against: str, choice: TemplateChoice
) -> tuple[ConversationTemplate, tuple[Notice, ...]]:
    if against != NATIVE:
        return compile_template(template_from_file(Path(against))), ()
    if choice.checkpoint is None:
        raise InvalidOption(
            "--against hf needs --tokenizer", hint="the checkpoint's own template lies beside its tokenizer"
        )
    encoder = renderer.family.encoder
    if encoder is None or checkpoint_template_if_any(choice.checkpoint) is not None:
        return compile_template(checkpoint_template(choice.checkpoint, choice.name)), ()
    warning = Notice(
        code="no_own_template",
        message=f"{choice.checkpoint} has no chat template: compared with titocli's encoder {encoder}",
        hint="such checkpoints ship an encoder in Python, which is not run; the parity report of titocli "
        "compares its encoders with others",
    )
    return encoder_template(encoder), (warning,)


def _located(render: Render, first: FirstDifference | None) -> FirstDifference | None:
    if first is None:
        return None
    spans = render.spans(tokenizer=None)
    message = next((span.message for span in spans if span.text_end > first.character), None)
    placed = first.in_message(message)
    return placed.in_tokens(render.encoded[1]) if render.renderer.has_tokenizer else placed


def compare_file(rendered: bytes, path: Path, texts: Sequence[Render] = ()) -> Comparison:
    """The bytes of a file against those of a render.

    ``texts`` are the renders where ``rendered`` is nothing but their text.
    """
    try:
        expected = path.read_bytes()
    except OSError as error:
        raise UnreadableFile(f"cannot read {path}: {error.strerror}", hint="check the path") from error
    if expected == rendered:
        return Comparison(name=str(path), difference="")
    first = first_difference("the render", _shown(rendered), _shown(expected))
    located = _located(texts[0], first) if len(texts) == 1 else first
    return Comparison(
        name=str(path),
        difference=unified(_shown(expected), _shown(rendered), str(path), "render"),
        firsts=() if located is None else (located,),
    )


def _shown(data: bytes) -> str:
    return data.decode(errors="backslashreplace")


__all__ = ["NATIVE", "Comparison", "compare_file", "compare_templates"]
