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

    THINK_TAGS = "think_tags"


class ToolCallGrammar(StrEnum):
    """How a model writes a tool call."""

    HERMES_JSON = "hermes_json"
    XML_PARAMETERS = "xml_parameters"


class SuffixBase(StrEnum):
    """What the suffix of appended messages is rendered against."""

    #: A made-up system and assistant turn: the template renders an appended message independently of
    #: what lies before the last assistant turn (``titocli.verify`` proves it).
    SYNTHETIC = "synthetic"
    #: The session's own messages: the template looks further back.
    REAL_HISTORY = "real_history"


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

    ``template`` names a file of ``templates/``; None takes the checkpoint's own.  ``fixed_kwargs`` belong
    to the family.  ``pinned_kwargs`` are chosen by a path on its first turn and then kept, for they are
    written into the prefix; ``turn_kwargs`` may change every turn, for they only shape the generation prompt.
    Both map a name to its finite values, the template's own default first, or to an empty tuple where any
    value may stand.
    ``required_tokens`` is what a tokenizer must have as single tokens.  ``content_parts`` are the types of
    content parts that the template can print.
    """

    name: str
    summary: str
    checkpoints: tuple[Checkpoint, ...] = ()
    template: str | None = None
    fixed_kwargs: Mapping[str, JsonValue] = field(default_factory=_frozen)
    pinned_kwargs: Mapping[str, tuple[JsonValue, ...]] = field(default_factory=dict)
    turn_kwargs: Mapping[str, tuple[JsonValue, ...]] = field(default_factory=dict)
    append_roles: tuple[Role, ...] = tuple(Role)
    content_parts: tuple[str, ...] = ("text",)
    boundary: Boundary = Concatenate()
    suffix_base: SuffixBase = SuffixBase.SYNTHETIC
    parsers: Parsers = Parsers()
    stop_tokens: tuple[str, ...] = ()
    required_tokens: tuple[str, ...] = ()
    assistant_start: str | None = None
    comparator_trailing: tuple[str, ...] = ()
    deviations: tuple[Deviation, ...] = ()
    origin: str = "built-in"


__all__ = [
    "Boundary",
    "Checkpoint",
    "Concatenate",
    "Deviation",
    "Family",
    "Glue",
    "Parsers",
    "ReasoningGrammar",
    "Role",
    "SuffixBase",
    "ToolCallGrammar",
    "Trim",
]
