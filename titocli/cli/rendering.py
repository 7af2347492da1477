"""From a conversation and the options of ``render`` to its text, ids and spans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

from titocli.cli.conversations import Conversation, named_place
from titocli.cli.split_answers import split_answer_warnings
from titocli.families.call_ids import CallIds
from titocli.families.control_policy import ControlTokens
from titocli.families.effort import Effort
from titocli.families.family import Family, Role
from titocli.families.kwargs import resolve_kwargs, same_value, with_reasoning_effort
from titocli.families.messages import normalise_messages
from titocli.families.renderer import Renderer, family_renderer
from titocli.families.spans import Span, conversation_spans
from titocli.families.template_source import TemplateSource, template_from_checkpoint, template_from_file
from titocli.jsonvalue import JsonValue, Message, Tool
from titocli.report.result import Notice
from titocli.tokens.loading import checkpoint_folder
from titocli.tokens.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderOptions:
    """What the command line says beside the conversation; None leaves it to the conversation."""

    kwargs: Mapping[str, JsonValue] = field(default_factory=dict)
    reasoning_effort: Effort = None
    tools: Sequence[Tool] | None = None
    generation_prompt: bool | None = None
    turns: int | None = None
    control_tokens: ControlTokens = ControlTokens.TEXT


@dataclass(frozen=True, kw_only=True)
class Render:
    """One rendered conversation; ids and spans are made when they are asked for."""

    renderer: Renderer
    place: str
    messages: Sequence[Message]
    tools: Sequence[Tool]
    kwargs: Mapping[str, JsonValue]
    generation_prompt: bool
    control_tokens: ControlTokens
    warnings: tuple[Notice, ...]

    @cached_property
    def text(self) -> str:
        """The rendered text."""
        return self.text_by(self.renderer)

    def text_by(self, renderer: Renderer) -> str:
        """The same conversation as another renderer writes it."""
        with named_place(self.place):
            return renderer.text(
                self.messages,
                tools=self.tools,
                kwargs=self.kwargs,
                generation_prompt=self.generation_prompt,
            )

    @cached_property
    def encoded(self) -> tuple[list[int], list[tuple[int, int]]]:
        """The ids of the text and the characters that each covers; needs a tokenizer."""
        marked = self.renderer.marked_text(
            self.messages,
            tools=self.tools,
            kwargs=self.kwargs,
            generation_prompt=self.generation_prompt,
            control_tokens=self.control_tokens,
        )
        return self.renderer.tokenizer.encode_with_breaks(marked)

    def spans(self, *, tokenizer: Tokenizer | None) -> tuple[Span, ...]:
        """The spans of the text, in tokens too where there is a tokenizer."""
        return conversation_spans(
            self.renderer,
            self.text,
            self.messages,
            tools=self.tools,
            kwargs=self.kwargs,
            generation_prompt=self.generation_prompt,
            offsets=None if tokenizer is None else self.encoded[1],
        )


def prepare(renderer: Renderer, conversation: Conversation, options: RenderOptions) -> Render:
    """The render of a conversation, everything resolved; raises for messages and kwargs that cannot be."""
    family = renderer.family
    with named_place(conversation.place):
        messages = normalise_messages(family, conversation.messages)
    body = with_reasoning_effort(family, conversation.kwargs, conversation.reasoning_effort)
    flags = with_reasoning_effort(family, options.kwargs, options.reasoning_effort)
    kwargs = resolve_kwargs(family, body, flags)
    shown, short = _first_turns(messages, options.turns)
    tools = conversation.tools if options.tools is None else options.tools
    with named_place(conversation.place):
        if options.control_tokens is ControlTokens.REJECT:
            renderer.client_text.refuse(shown, tools, first=0)
        split = tuple(split_answer_warnings(renderer, conversation.place, shown, kwargs))
    return Render(
        renderer=renderer,
        place=conversation.place,
        messages=shown,
        tools=tools,
        kwargs=kwargs,
        generation_prompt=_generation_prompt(shown, options.generation_prompt),
        control_tokens=options.control_tokens,
        warnings=(*short, *split, *_kwarg_warnings(renderer, {**body, **flags})),
    )


def _generation_prompt(messages: Sequence[Message], asked: bool | None) -> bool:
    return messages[-1]["role"] != Role.ASSISTANT if asked is None else asked


def _first_turns(
    messages: Sequence[Message], turns: int | None
) -> tuple[Sequence[Message], tuple[Notice, ...]]:
    """The messages up to the assistant's turn number ``turns``, all with a warning when there are fewer."""
    ends = [index for index, message in enumerate(messages, start=1) if message["role"] == Role.ASSISTANT]
    if turns is None:
        return messages, ()
    if turns <= len(ends):
        return messages[: ends[turns - 1]], ()
    return messages, (
        Notice(
            code="fewer_turns",
            message=f"--turns {turns} was asked, the conversation has {len(ends)} assistant turns",
            hint="all of it is rendered",
        ),
    )


def _kwarg_warnings(renderer: Renderer, given: Mapping[str, JsonValue]) -> Iterator[Notice]:
    family, variables = renderer.family, renderer.template.variables
    finite = {**family.pinned_kwargs, **family.turn_kwargs}
    for name, value in given.items():
        if name in family.fixed_kwargs:
            continue
        if name not in variables:
            yield _unread(renderer, name, sorted(variables | finite.keys()))
        # An effort that is not known was refused before.
        elif (
            name != "reasoning_effort"
            and finite.get(name)
            and not any(same_value(value, known) for known in finite[name])
        ):
            known = ", ".join(map(repr, finite[name]))
            yield Notice(
                code="unknown_kwarg_value",
                message=f"the kwarg {name}={value!r} is none of the values that family {family.name!r} knows",
                hint=f"known: {known}",
            )


def _unread(renderer: Renderer, name: str, known: Sequence[str]) -> Notice:
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    kwargs = sorted(set(known) - {"messages", "tools", "documents", "add_generation_prompt"})
    listed = f"it reads {', '.join(kwargs) or 'no kwargs'}"
    return Notice(
        code="unread_kwarg",
        message=f"the template {renderer.template.source.name} does not read the kwarg {name!r}",
        hint=f"did you mean {near[0]!r}? ({listed})" if near else listed,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateChoice:
    """Which template renders: a file, else the family's, else the checkpoint's own (by ``name``)."""

    file: Path | None = None
    checkpoint: str | None = None
    name: str | None = None


def make_renderer(
    family: Family,
    choice: TemplateChoice,
    tokenizer: Tokenizer | None,
    *,
    call_ids: CallIds = CallIds.VERBATIM,
) -> Renderer:
    """The family's renderer: by the chosen file, else its shipped one, else the one beside the tokenizer."""
    source = None
    if choice.file is not None:
        source = template_from_file(choice.file)
    elif family.template is None and family.encoder is None and choice.checkpoint is not None:
        source = checkpoint_template(choice.checkpoint, choice.name)
    return family_renderer(family, tokenizer, source, call_ids=call_ids)


def checkpoint_template(where: str, name: str | None = None) -> TemplateSource:
    """The chat template of the checkpoint whose tokenizer is at ``where``; ``name``: where it has several."""
    return template_from_checkpoint(checkpoint_folder(where), name)


__all__ = ["Render", "RenderOptions", "checkpoint_template", "make_renderer", "prepare"]
