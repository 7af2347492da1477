"""What a verification says while it runs: a stream of typed events, and nothing else.

The engine yields events; every report is a function of such a stream.  One target gives, in this order::

    RunStarted
      TemplatesCompared                           only with another template to compare with
      for every check: CheckStarted, Progress..., CheckFailed or FailureIgnored..., CheckFinished
    RunFinished

Several targets give one such run after another.  With ``fail_fast`` a run ends after its first failure: the
checks that follow have no events, and ``RunFinished`` comes all the same.  What a target's own text makes
impossible (a template that does not compile) is raised as a ``TitoError`` in place of the next event.

Texts are raw: invisible characters are made visible, and long texts cut, by whoever shows them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from titocli.jsonvalue import JsonValue, Message, Tool


class CheckId(StrEnum):
    """The stable names of the checks: in ``--select``, in reports, in ignore files."""

    APPEND_ONLY = "append-only"
    SUFFIX_INDEPENDENCE = "suffix-independence"
    BOUNDARY_TOKENS = "boundary-tokens"
    GENERATION_PROMPT = "generation-prompt"
    THINKING_RETENTION = "thinking-retention"
    TOOL_SHAPES = "tool-shapes"
    KWARGS_GUARD = "kwargs-guard"
    NO_REPR_LEAK = "no-repr-leak"
    TIME_INVARIANCE = "time-invariance"
    SANDBOX = "sandbox"
    HF_PARITY = "hf-parity"


class FailureKind(StrEnum):
    """In which way a check fails; one check may have several."""

    #: append-only: appending messages changes text that was rendered before.
    HISTORY_REWRITTEN = "history_rewritten"
    #: append-only, generation-prompt: the messages' text stays, the opening of the answered turn does not.
    GENERATION_PROMPT_LOST = "generation_prompt_lost"
    #: generation-prompt: what opens the next turn is missing, stands elsewhere or changes what is before it.
    GENERATION_PROMPT_WRONG = "generation_prompt_wrong"
    #: suffix-independence: appended messages render otherwise after a made-up history.
    SUFFIX_DIFFERS = "suffix_differs"
    #: boundary-tokens: stored ids and suffix ids are not the ids of the whole text.
    TOKENS_DIFFER = "tokens_differ"
    #: thinking-retention: reasoning of a turn is not in the prompt, or no longer.
    THINKING_LOST = "thinking_lost"
    #: tool-shapes: a part of a tool, call or result is missing, or stands at the wrong place.
    TOOL_LOST = "tool_lost"
    #: tool-shapes: two spellings of the same conversation render differently.
    SHAPES_DIFFER = "shapes_differ"
    #: content of a message is missing from the prompt (tool-shapes).
    CONTENT_LOST = "content_lost"
    #: kwargs-guard: a kwarg changes text that it should not change.
    KWARG_LEAKS = "kwarg_leaks"
    #: kwargs-guard: a kwarg that the family names changes nothing.
    KWARG_UNREAD = "kwarg_unread"
    #: kwargs-guard: the value that the contract calls a kwarg's default is not what its absence means.
    KWARG_DEFAULT_DIFFERS = "kwarg_default_differs"
    #: no-repr-leak: Python's spelling of a value is in the prompt.
    PYTHON_REPR = "python_repr"
    #: no-repr-leak: text is in the prompt in an escaped spelling that nobody wrote.
    TEXT_ESCAPED = "text_escaped"
    #: time-invariance: the prompt depends on the clock, or on which render it is.
    TIME_DEPENDENT = "time_dependent"
    #: sandbox: the template changed its input or reads Python's own names.
    SANDBOX_ESCAPE = "sandbox_escape"
    #: hf-parity: the other template renders the same conversation otherwise.
    RENDERS_DIFFER = "renders_differ"
    #: any check: the template raised for a conversation that it should render.
    TEMPLATE_RAISED = "template_raised"


class Status(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One conversation to check: messages, tools and kwargs as a client would send them.

    ``name`` says where it comes from: ``single_tool-N3`` (a schedule and how many messages are rendered
    first), ``generated-17``, or the place in a user's file.
    """

    name: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] | None = None
    kwargs: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateLine:
    """The line of a template that printed what differs: its number from 1, and its text."""

    file: str
    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a failure shows.

    ``character`` is the first that differs, an index into both ``Failure.expected`` and ``Failure.actual``
    (the shorter length where one continues the other).  ``token`` is the index of the token that has it, None
    without a tokenizer.  ``message`` is the index of the message whose text it is in, None where it belongs
    to none (the generation prompt); ``role`` is that message's.  ``template`` is where the text that should
    be there was printed, ``actual_template`` where the text that is there instead was; None where that cannot
    be traced.
    """

    character: int
    token: int | None = None
    message: int | None = None
    role: str | None = None
    template: TemplateLine | None = None
    actual_template: TemplateLine | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The smallest conversation found that breaks a check, and how.

    ``expected`` and ``actual`` are two whole texts that should agree up to the end of the shorter one
    (``kind`` says what they are; for a text that holds what it should not, ``actual`` has it).  For a failure
    of ids they are the texts of the ids, and ``Place.token`` tells more.  ``turn_end`` and ``state_end``
    count the messages of the two states compared: ``expected`` renders the first ``turn_end`` messages,
    ``actual`` the first ``state_end``; None where both render all.

    ``cases`` are the names of all cases that failed for the same cause, this one first; ``shrunk_from`` is
    how many messages the first of them had before it was made smaller.  ``sentence`` says for a person what
    is wrong, without any text of the conversation.  ``saved_as`` is the file that has the conversation, and
    ``reproduce`` the command that shows this failure again: both None until someone wrote that file.
    """

    check: CheckId
    kind: FailureKind
    case: Case
    cases: tuple[str, ...]
    shrunk_from: int
    expected: str
    actual: str
    at: Place
    sentence: str
    turn_end: int | None = None
    state_end: int | None = None
    saved_as: str | None = None
    reproduce: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is checked: ``name`` as it was given or found, ``family`` whose contract it is held to.

    ``template`` names the template's file, ``source`` is its text ("" for an encoder written in Python).
    ``notes`` are sentences on what titocli decided on its own (which family a template belongs to).
    """

    name: str
    family: str
    variant: str | None
    template: str
    sha256: str | None
    source: str
    append_roles: tuple[str, ...]
    kwargs: Mapping[str, JsonValue]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """A target's run begins: ``checks`` will be made on ``cases`` conversations, ``examples`` generated."""

    target: Target
    seed: int
    examples: int
    cases: int
    checks: tuple[CheckId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplatesCompared:
    """The sources of the target's template and of another one, for a difference of their lines."""

    ours: str
    theirs: str
    our_source: str
    their_source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckStarted:
    """The outcome of a check follows; making its counterexamples small can take a moment."""

    check: CheckId


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """``done`` of the run's ``cases`` were looked at."""

    done: int
    cases: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFailed:
    """A check found a counterexample: one event for each cause."""

    failure: Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureIgnored:
    """A failure that a rule of the user's ignore file takes away, with the reason that the rule gives."""

    failure: Failure
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFinished:
    """A check ended.  ``reason`` says why it was skipped, and is None otherwise.

    ``cases`` is how many conversations it looked at, ``failing`` how many of them failed, ``refused`` how
    many the template raised for although nothing says that it renders them.
    """

    check: CheckId
    status: Status
    cases: int
    failing: int = 0
    refused: int = 0
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished:
    """A target's run ended.

    ``coverage`` says in how many conversations each feature occurred (``tool calls 2``, ``reasoning empty``,
    ``kwarg enable_thinking=False``); ``gaps`` are the features that the target should have met and never did.
    """

    target: Target
    status: Status
    cases: int
    failures: int
    seconds: float
    coverage: Mapping[str, int]
    gaps: tuple[str, ...]


Event: TypeAlias = (
    RunStarted
    | TemplatesCompared
    | CheckStarted
    | Progress
    | CheckFailed
    | FailureIgnored
    | CheckFinished
    | RunFinished
)


__all__ = [
    "Case",
    "CheckFailed",
    "CheckFinished",
    "CheckId",
    "CheckStarted",
    "Event",
    "Failure",
    "FailureIgnored",
    "FailureKind",
    "Place",
    "Progress",
    "RunFinished",
    "RunStarted",
    "Status",
    "Target",
    "TemplateLine",
    "TemplatesCompared",
]
