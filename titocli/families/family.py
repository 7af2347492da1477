"""What a family is: the contract for rendering one line of models, as frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

from titocli.jsonvalue import JsonValue


class Role(StrEnum):
    """A message role that titocli renders."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class ReasoningGrammar(StrEnum):
    """How a model writes its reasoning."""

    #: ``<think>\n{reasoning}\n</think>\n\n{content}``
    THINK_TAGS = "think_tags"
    #: ``<think>{reasoning}</think>{content}``
    THINK_TAGS_TIGHT = "think_tags_tight"
    #: ``<think>\n{reasoning}\n</think>\n\n{content}`` with every other newline kept (MiniMax)
    THINK_TAGS_SPACED = "think_tags_spaced"
    #: ``<think>\n{reasoning}\n</think>\n{content}`` (Nemotron 3 Nano and Super)
    THINK_TAGS_LINES = "think_tags_lines"
    #: ``<think>\n{reasoning}</think>{content}`` (Nemotron 3 Ultra)
    THINK_TAGS_HEADED = "think_tags_headed"
    #: ``<|content_thinking|>{reasoning}<|end_message|>`` and so on, block by block
    INKLING_BLOCKS = "inkling_blocks"


class ToolCallGrammar(StrEnum):
    """How a model writes a tool call."""

    HERMES_JSON = "hermes_json"
    XML_PARAMETERS = "xml_parameters"
    #: As ``xml_parameters``, with one newline before the first call and one after every call (Nemotron 3)
    XML_PARAMETERS_LINES = "xml_parameters_lines"
    GLM_ARG_PAIRS = "glm_arg_pairs"
    MINIMAX_INVOKE = "minimax_invoke"
    KIMI_SECTIONS = "kimi_sections"
    DSML = "dsml"
    INKLING_BLOCKS = "inkling_blocks"


class SuffixBase(StrEnum):
    """What the suffix of appended messages is rendered against."""

    #: A made-up system and assistant turn: the template renders an appended message independently of
    #: what lies before the last assistant turn (``titocli.verify`` proves it).
    SYNTHETIC = "synthetic"
    #: The session's own messages: the template looks further back.
    REAL_HISTORY = "real_history"


class Encoder(StrEnum):
    """An encoder written in Python, for checkpoints that ship no Jinja template."""

    DEEPSEEK_V32 = "deepseek_v32"
    DEEPSEEK_V4 = "deepseek_v4"
    DEEPSEEK_V41 = "deepseek_v41"


class ToolRuns(StrEnum):
    """Which runs of tool results may be appended."""

    ANY = "any"
    #: The template writes a run as one piece, in the order of the calls or in a block that the last result
    #: closes: a run is appended only when it answers every call.
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class Concatenate:
    """Boundary: appended ids follow the stored ids as they are."""


@dataclass(frozen=True, slots=True)
class Glue:
    """Boundary: ``text`` is inserted when the stored ids end with the token ``after``.

    Qwen's engine stops at ``<|im_end|>``, its template writes ``<|im_end|>`` and a newline.
    """

    after: str
    text: str


@dataclass(frozen=True, slots=True)
class Trim:
    """Boundary: one trailing token of ``tokens`` is dropped, for it also opens the next message."""

    tokens: tuple[str, ...]


Boundary: TypeAlias = Concatenate | Glue | Trim


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsers:
    """How completions of a family are read.

    The grammars are titocli's own parsers; the ``sglang_*`` names are SGLang 0.5.23's parsers that read
    the same text.
    """

    reasoning: ReasoningGrammar | None = None
    tool_call: ToolCallGrammar | None = None
    sglang_reasoning: str | None = None
    sglang_tool_call: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A published checkpoint, with the SHA-256 of its own chat template where that is known."""

    name: str
    template_sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """Where the family's template differs from a checkpoint's own on purpose, and why."""

    what: str
    why: str


def _frozen(items: Mapping[str, JsonValue] | None = None) -> Mapping[str, JsonValue]:
    return MappingProxyType(dict(items or {}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A named contract for rendering one line of models.

    ``template`` names a file of ``templates/``, ``encoder`` code that takes its place; with neither the
    checkpoint's own template is taken.  ``variants`` are the same family for checkpoints whose templates
    differ, by the variant's name; ``variant`` is the name of this one.  ``fixed_kwargs`` belong to the
    family; ``default_kwargs`` stand where nobody gives another value.  ``refused_kwargs`` make a template
    rewrite history, and map a name to the reason: a session refuses them.  ``pinned_kwargs`` are chosen
    by a path on its first turn and then kept, for they are written into the prefix; ``turn_kwargs`` may
    change every turn, for they only shape the generation prompt.  Both map a name to its finite values,
    the template's own default first, or to an empty tuple where any value may stand.  ``effort_numbers``
    are ranges of numbers, ends included, that ``reasoning_effort`` may be beside its names; a range between
    whole numbers holds whole numbers alone.  ``required_tokens`` is what a tokenizer must have as single
    tokens.  ``content_parts`` are the types of content parts that the
    template can print.  ``assistant_start`` is the text that opens an assistant turn,
    ``assistant_resumes`` the text after which one goes on without it.  ``comparator_specials`` are the
    tokens that cut ids into segments when they are compared, () for all that are flagged special.
    """

    name: str
    summary: str
    checkpoints: tuple[Checkpoint, ...] = ()
    template: str | None = None
    encoder: Encoder | None = None
    variant: str | None = None
    variants: Mapping[str, Family] = field(default_factory=dict)
    fixed_kwargs: Mapping[str, JsonValue] = field(default_factory=_frozen)
    default_kwargs: Mapping[str, JsonValue] = field(default_factory=_frozen)
    pinned_kwargs: Mapping[str, tuple[JsonValue, ...]] = field(default_factory=dict)
    turn_kwargs: Mapping[str, tuple[JsonValue, ...]] = field(default_factory=dict)
    refused_kwargs: Mapping[str, str] = field(default_factory=dict)
    effort_numbers: tuple[tuple[float, float], ...] = ()
    append_roles: tuple[Role, ...] = tuple(Role)
    tool_runs: ToolRuns = ToolRuns.ANY
    content_parts: tuple[str, ...] = ("text",)
    boundary: Boundary = Concatenate()
    suffix_base: SuffixBase = SuffixBase.SYNTHETIC
    parsers: Parsers = Parsers()
    stop_tokens: tuple[str, ...] = ()
    required_tokens: tuple[str, ...] = ()
    assistant_start: str | None = None
    assistant_resumes: str | None = None
    comparator_trailing: tuple[str, ...] = ()
    comparator_specials: tuple[str, ...] = ()
    deviations: tuple[Deviation, ...] = ()
    origin: str = "built-in"


__all__ = [
    "Boundary",
    "Checkpoint",
    "Concatenate",
    "Deviation",
    "Encoder",
    "Family",
    "Glue",
    "Parsers",
    "ReasoningGrammar",
    "Role",
    "SuffixBase",
    "ToolCallGrammar",
    "ToolRuns",
    "Trim",
]
