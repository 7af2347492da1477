"""What ``titocli render`` does with its options."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from titocli.cli.comparison import Comparison, compare_file, compare_templates
from titocli.cli.conversations import (
    Conversation,
    ConversationFile,
    conversation,
    read_conversations,
    read_tools,
)
from titocli.cli.family_choice import choose_family
from titocli.cli.format_names import Format
from titocli.cli.formats import body_of, bytes_of, data_of, refuse_without_tokenizer
from titocli.cli.kwarg_option import parse_kwargs
from titocli.cli.rendering import Render, RenderOptions, TemplateChoice, make_renderer, prepare
from titocli.cli.sample_conversation import SAMPLE
from titocli.errors import InvalidOption
from titocli.families.call_ids import CallIds
from titocli.families.control_policy import ControlTokens
from titocli.families.renderer import Renderer
from titocli.report.result import Body, Envelope, Notice, Result
from titocli.tokens.loading import load_tokenizer
from titocli.tokens.tokenizer import Tokenizer

#: Differences that are said beside the unified one.
_SHOWN_FIRSTS = 3

_log = logging.getLogger("titocli.render")


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderRequest:
    """The options of one run, as given; ``conversation`` is None for the built-in sample."""

    conversation: str | None
    family: str
    variant: str | None
    tokenizer: str | None
    template: Path | None
    template_name: str | None
    call_ids: CallIds
    tools: Path | None
    kwargs: tuple[str, ...]
    reasoning_effort: str | None
    generation_prompt: bool | None
    turns: int | None
    control_tokens: ControlTokens
    wanted: Format
    output: Path | None
    against: str | None
    check: Path | None


def render_result(request: RenderRequest) -> Result:
    """The result of a run; raises what can be wrong with its options, files and conversations."""
    choice = choose_family(request.family, request.variant, request.tokenizer)
    family = choice.family
    options = _options(request)
    if request.tokenizer is None:
        refuse_without_tokenizer(request.wanted, family)
    tokenizer = None if request.tokenizer is None else load_tokenizer(request.tokenizer)
    renderer = make_renderer(family, _template_choice(request), tokenizer, call_ids=request.call_ids)
    _log_renderer(renderer, tokenizer)
    file = _conversations(request.conversation)
    renders = [prepare(renderer, one, options) for one in file.conversations]
    comparison = _comparison(request, renders)
    return Result(
        body=_body(request, renders, file, tokenizer, comparison),
        exit_code=0 if comparison is None or comparison.is_same else 1,
        warnings=(*choice.warnings, *_warnings(renders, comparison)),
        notes=(*choice.notes, *_notes(request, comparison)),
        output=request.output,
    )


def _template_choice(request: RenderRequest) -> TemplateChoice:
    if request.template_name is not None and request.tokenizer is None:
        raise InvalidOption(
            "--template-name needs --tokenizer", hint="it names a template of the checkpoint there"
        )
    return TemplateChoice(file=request.template, checkpoint=request.tokenizer, name=request.template_name)


def _options(request: RenderRequest) -> RenderOptions:
    return RenderOptions(
        kwargs=parse_kwargs(request.kwargs),
        reasoning_effort=request.reasoning_effort,
        tools=None if request.tools is None else read_tools(request.tools),
        generation_prompt=request.generation_prompt,
        turns=request.turns,
        control_tokens=request.control_tokens,
    )


def _log_renderer(renderer: Renderer, tokenizer: Tokenizer | None) -> None:
    source = renderer.template.source
    _log.info("template %s, sha256 %s", source.name, source.sha256)
    if tokenizer is not None:
        _log.info("tokenizer %s, %d ids", tokenizer.source, tokenizer.vocab_size)


def _conversations(where: str | None) -> ConversationFile:
    if where is not None:
        return read_conversations(where)
    sample: Conversation = conversation("the built-in sample", SAMPLE)
    return ConversationFile(conversations=(sample,))


def _comparison(request: RenderRequest, renders: Sequence[Render]) -> Comparison | None:
    if request.against is not None:
        return compare_templates(renders, request.against, _template_choice(request))
    if request.check is not None:
        texts = renders if request.wanted is Format.TEXT else ()
        return compare_file(bytes_of(renders, request.wanted), request.check, texts)
    return None


def _body(
    request: RenderRequest,
    renders: Sequence[Render],
    file: ConversationFile,
    tokenizer: Tokenizer | None,
    comparison: Comparison | None,
) -> Body:
    if comparison is None:
        return body_of(renders, request.wanted, one_a_line=file.one_a_line, tokenizer=tokenizer)
    if request.wanted is Format.JSON:
        data = data_of(renders, one_a_line=file.one_a_line, tokenizer=tokenizer)
        return Envelope({**data, "comparison": comparison.data})
    return comparison.difference.encode()


def _warnings(renders: Sequence[Render], comparison: Comparison | None) -> tuple[Notice, ...]:
    # The same kwarg is wrong for every conversation of a file: said once.
    said = dict.fromkeys(notice for render in renders for notice in render.warnings)
    return (*said, *(() if comparison is None else comparison.warnings))


def _notes(request: RenderRequest, comparison: Comparison | None) -> tuple[str, ...]:
    notes = []
    if request.conversation is None:
        notes.append("note: this is the built-in sample; give a file, or - for standard input")
    if comparison is not None:
        outcome = "the same as" if comparison.is_same else "different from"
        notes.append(f"note: the render is {outcome} {comparison.name}")
        notes += [f"note: {first.line(comparison.name)}" for first in comparison.firsts[:_SHOWN_FIRSTS]]
    return tuple(notes)


__all__ = ["RenderRequest", "render_result"]
