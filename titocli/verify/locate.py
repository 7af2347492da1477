"""Where a finding shows: the message, the character, the token, and the lines of the template."""

from __future__ import annotations

from dataclasses import dataclass

from titocli.errors import TitoError
from titocli.families.renderer import Renderer
from titocli.families.spans import SpanKind, conversation_spans
from titocli.verify.checks.finding import Finding
from titocli.verify.contract import Ids
from titocli.verify.events import FailureKind, Place, TemplateLine
from titocli.verify.states import By, Shown, States
from titocli.verify.trace import TracedTemplate


@dataclass(frozen=True, slots=True)
class Lines:
    """The template lines that printed the text that should be there, and the text that is there."""

    expected: TemplateLine | None
    actual: TemplateLine | None


def lines_of(states: States, finding: Finding) -> Lines:
    """The lines of a finding, None for each that cannot be traced."""
    if finding.line is not None:
        return Lines(None, finding.line)
    return Lines(
        _line(states, finding.expected_from, finding.at), _line(states, finding.actual_from, finding.at)
    )


def _line(states: States, shown: Shown | None, character: int) -> TemplateLine | None:
    if shown is None:
        return None
    renderer = states.renderer(shown.by)
    if renderer.family.encoder is not None and shown.by is not By.OTHER:
        return None
    traced = TracedTemplate(renderer.template.source)
    try:
        states.rendered_by(Renderer(renderer.family, traced), shown)
    except Exception:  # noqa: BLE001 - a line is told where it can be; the finding stands without it
        return None
    return traced.line_of(character)


def place_of(states: States, finding: Finding, lines: Lines) -> Place:
    """The place of a finding."""
    message, role = _message(states, finding)
    return Place(
        character=finding.at,
        token=_token(states, finding),
        message=message,
        role=role,
        template=lines.expected,
        actual_template=lines.actual,
    )


def _token(states: States, finding: Finding) -> int | None:
    encoding = states.contract.encoding
    if finding.token is not None or encoding is None or states.contract.ids is not Ids.REAL:
        return finding.token
    _, offsets = encoding.tokenizer.encode_with_offsets(finding.expected)
    return next((n for n, (_, end) in enumerate(offsets) if finding.at < end), len(offsets))


def _message(states: States, finding: Finding) -> tuple[int | None, str | None]:
    shown = finding.expected_from or finding.actual_from
    if shown is None or finding.kind is FailureKind.SANDBOX_ESCAPE:
        return None, None
    try:
        spans = conversation_spans(
            states.renderer(shown.by),
            states.shown(shown),
            states.messages[: shown.end],
            tools=states.tools,
            kwargs={**states.kwargs, **dict(shown.changed)},
            generation_prompt=shown.generation_prompt,
        )
    except TitoError:
        return None, None
    found = next((span for span in spans if finding.at < span.text_end), spans[-1])
    return (None, None) if found.kind is SpanKind.GENERATION_PROMPT else (found.message, found.role)


__all__ = ["Lines", "lines_of", "place_of"]
