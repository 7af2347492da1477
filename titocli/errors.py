"""Every failure that a user can cause, in one tree.

Each class fixes a stable ``code``, an HTTP status and an exit code; each instance carries a sentence for a
person, a ``hint`` with the next step, and ``details`` for programs.  No text of a prompt goes into them.

::

    TitoError
    +-- UsageError              exit 2   what was asked contradicts itself or does not exist
    |   +-- UnknownName             unknown_name            a family, format, key that does not exist
    |   +-- ConflictingKwarg        conflicting_kwarg       a template kwarg that the family owns
    |   +-- UnsupportedRequest      unsupported_request     a request field that cannot be honoured
    |   +-- NotAcceptable           not_acceptable          no format of a reply that the client takes
    |   +-- ConflictingOption       conflicting_option      options that exclude each other
    |   +-- InvalidOption           invalid_option          an option missing, or with a value it cannot take
    |   +-- InvalidApiKey           invalid_api_key         a request without the server's key
    |   +-- UnknownPath             unknown_path            a URL that the server does not answer
    |   +-- MethodNotAllowed        method_not_allowed
    |   +-- BodyTooLarge            body_too_large
    |   +-- IdempotencyConflict     idempotency_conflict    one key, two request bodies
    |   +-- MatcherContract         matcher_contract        a user's message matcher that does not answer
    +-- InputError              exit 3   what was given cannot be used
    |   +-- UnreadableFile          unreadable_file
    |   +-- UnwritableFile          unwritable_file
    |   |   +-- UnwritableOutput        unwritable_output       standard output is full or closed
    |   +-- InvalidJson             invalid_json
    |   +-- InvalidMessages         invalid_messages
    |   +-- InvalidTools            invalid_tools
    |   +-- TemplateSyntax          template_syntax         does not compile: file, line, column
    |   +-- TemplateRaised          template_raised         raised while rendering: line, message index
    |   +-- TemplateUnbounded       template_unbounded      exceeded its budget of work or output
    |   +-- HistoryRewritten        history_rewritten       the template edits text before an append
    |   +-- RoleNotAppendable       role_not_appendable
    |   +-- ControlTokenInText      control_token_in_text   client text spells a control token
    |   +-- InvalidFamilyFile       invalid_family_file     a registered family's file that cannot be used
    |   +-- InvalidSampleRequest    invalid_sample_request  a request for samples with a value it cannot take
    |   +-- InvalidSamples          invalid_samples         encoded samples that are not what they promise
    |   +-- IncompleteSamples       incomplete_samples      encoded samples that lack a part
    +-- UnavailableError        exit 4   something is not installed or not there
    |   +-- MissingExtra            missing_extra
    |   +-- MissingTokenizer        missing_tokenizer
    |   |   +-- GatedRepository         gated_repository
    |   |   +-- UnknownRepository       unknown_repository
    |   |   +-- HubUnreachable          hub_unreachable
    |   +-- UnfitTokenizer          unfit_tokenizer         lacks tokens that the family needs
    |   +-- ServerDraining          server_draining         the server takes no new turns: it is ending
    +-- EngineError             exit 5   the engine or the way to it failed
    |   +-- EngineUnreachable       engine_unreachable
    |   +-- EngineTimeout           engine_timeout
    |   +-- EngineRefused           engine_refused          the engine's own 4xx, passed on
    |   +-- EngineBrokeProtocol     engine_broke_protocol
    |   +-- EngineAborted           engine_aborted
    |   +-- TokenOutOfVocabulary    token_out_of_vocabulary
    |   +-- ServerUnreachable       server_unreachable      no session server there
    |   +-- ServerRefused           server_refused          a session server's answer that is no answer
    +-- SessionError            exit 3   a request that the session's history forbids
    |   +-- SessionNotFound         session_not_found
    |   +-- SessionDeleted          session_deleted
    |   +-- RollbackTooDeep         rollback_too_deep
    |   +-- TruncatedPath           truncated_path
    |   +-- StaleCommit             stale_commit
    |   +-- PinnedKwarg             pinned_kwarg
    |   +-- ToolsChanged            tools_changed
    |   +-- SessionLimit            session_limit
    |   +-- TurnAborted             turn_aborted            a turn that was cancelled while it was generated
    |   +-- ContextLengthExceeded   context_length_exceeded
    |   +-- SamplesImpossible       samples_impossible      turns that do not make a sample
    |   +-- SampleHookFailed        sample_hook_failed      a picker or a postprocessor
    +-- InternalError           exit 70  internal_error         a bug in titocli
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import ClassVar

from titocli.jsonvalue import JsonObject


class TitoError(Exception):
    """Base of the tree; only its leaves are raised."""

    code: ClassVar[str] = "error"
    http_status: int = 400
    exit_code: ClassVar[int] = 70

    def __init__(self, message: str, *, hint: str | None = None, details: JsonObject | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details: JsonObject = details or {}


class UsageError(TitoError):
    """What was asked contradicts itself or does not exist."""

    exit_code = 2


class UnknownName(UsageError):
    """A name that does not exist; the hint proposes the nearest one that does."""

    code = "unknown_name"

    @classmethod
    def among(cls, kind: str, name: str, known: Iterable[str]) -> UnknownName:
        """An error for ``name`` that is none of ``known``, with a suggestion."""
        choices = sorted(known)
        near = get_close_matches(name, choices, n=1, cutoff=0.5)
        known_list = f"known: {', '.join(choices)}"
        hint = f"did you mean {near[0]!r}? ({known_list})" if near else known_list
        return cls(f"unknown {kind} {name!r}", hint=hint, details={"kind": kind, "name": name})


class ConflictingKwarg(UsageError):
    """A template kwarg whose value the family fixes, given with another value."""

    code = "conflicting_kwarg"


class UnsupportedRequest(UsageError):
    """A request field or value that titocli cannot honour; ``details.param`` names it."""

    code = "unsupported_request"


class NotAcceptable(UsageError):
    """No format of a reply is among those that the client accepts."""

    code = "not_acceptable"
    http_status = 406


class ConflictingOption(UsageError):
    """Options that exclude each other, or an option that contradicts the family."""

    code = "conflicting_option"


class InvalidOption(UsageError):
    """An option or argument that is missing, or has a value that it cannot take."""

    code = "invalid_option"


class InvalidApiKey(UsageError):
    """A request without the server's API key, or with another one."""

    code = "invalid_api_key"
    http_status = 401


class UnknownPath(UsageError):
    """A URL that the server does not answer."""

    code = "unknown_path"
    http_status = 404


class MethodNotAllowed(UsageError):
    """A URL that is answered, with another method."""

    code = "method_not_allowed"
    http_status = 405


class BodyTooLarge(UsageError):
    """A request body over the limit; nothing of it was read."""

    code = "body_too_large"
    http_status = 413


class IdempotencyConflict(UsageError):
    """An idempotency key that was used before, for another request body."""

    code = "idempotency_conflict"
    http_status = 409


class InputError(TitoError):
    """What was given cannot be used."""

    exit_code = 3


class UnreadableFile(InputError):
    """A file that is missing, a directory, empty, or not text."""

    code = "unreadable_file"


class UnwritableFile(InputError):
    """A file that cannot be written."""

    code = "unwritable_file"


class UnwritableOutput(UnwritableFile):
    """Standard output that takes nothing: full, or closed."""

    code = "unwritable_output"


class InvalidJson(InputError):
    """Text that is not JSON; ``details`` has line and column."""

    code = "invalid_json"


class InvalidMessages(InputError):
    """JSON that is not a conversation; ``details.message_index`` says where."""

    code = "invalid_messages"


class InvalidTools(InputError):
    """JSON that is not a list of tools."""

    code = "invalid_tools"


class TemplateSyntax(InputError):
    """A template that does not compile; ``details`` has file, line and column."""

    code = "template_syntax"


class TemplateRaised(InputError):
    """A template that raised while rendering; ``details`` has file, line and message index."""

    code = "template_raised"


class TemplateUnbounded(InputError):
    """A template that spent its budget of work or output."""

    code = "template_unbounded"


class HistoryRewritten(InputError):
    """A template that changes earlier text when messages are appended."""

    code = "history_rewritten"


class RoleNotAppendable(InputError):
    """A role that the family cannot append without rewriting history."""

    code = "role_not_appendable"


class ControlTokenInText(InputError):
    """Client text that spells a control token, where that is refused or cannot be kept apart."""

    code = "control_token_in_text"


class InvalidFamilyFile(InputError):
    """The file of a registered family, or its template, that was edited into something unusable."""

    code = "invalid_family_file"


class InvalidSampleRequest(InputError):
    """A request for samples with a value that it cannot take; ``details.param`` names it."""

    code = "invalid_sample_request"


class InvalidSamples(InputError, ValueError):
    """Encoded samples, or arrays to encode, that are not what they promise to be."""

    code = "invalid_samples"


class IncompleteSamples(InputError, KeyError):
    """Encoded samples that lack a part which they promise."""

    code = "incomplete_samples"

    # KeyError's own prints the repr of its argument.
    __str__ = Exception.__str__


class UnavailableError(TitoError):
    """Something is not installed or not there."""

    http_status = 501
    exit_code = 4


class MissingExtra(UnavailableError):
    """An optional part of titocli that is not installed; the hint has the command."""

    code = "missing_extra"


class MissingTokenizer(UnavailableError):
    """No tokenizer was given or it could not be found."""

    code = "missing_tokenizer"


class GatedRepository(MissingTokenizer):
    """A repository of the hub whose terms were not accepted."""

    code = "gated_repository"


class UnknownRepository(MissingTokenizer):
    """A repository that the hub does not have, or does not show."""

    code = "unknown_repository"


class HubUnreachable(MissingTokenizer):
    """A file that is not in the hub's cache, with no way to the hub; ``details.cache`` names the cache."""

    code = "hub_unreachable"


class UnfitTokenizer(UnavailableError):
    """A tokenizer that cannot serve the family; ``details.missing_tokens`` names what it lacks."""

    code = "unfit_tokenizer"


class ServerDraining(UnavailableError):
    """The server is ending: it finishes what it has begun and takes no new turns."""

    code = "server_draining"
    http_status = 503


class EngineError(TitoError):
    """The engine or the way to it failed."""

    http_status = 502
    exit_code = 5


class EngineUnreachable(EngineError):
    """No connection to the engine, or it died."""

    code = "engine_unreachable"


class EngineTimeout(EngineError):
    """The engine did not answer in time."""

    code = "engine_timeout"
    http_status = 504


class EngineRefused(EngineError):
    """The engine answered with an error of its own; ``details.status`` is its status."""

    code = "engine_refused"


class EngineBrokeProtocol(EngineError):
    """The engine answered 200 with a body that cannot be used."""

    code = "engine_broke_protocol"


class EngineAborted(EngineError):
    """The engine aborted the generation (weight update, cancel)."""

    code = "engine_aborted"
    http_status = 503


class TokenOutOfVocabulary(EngineError):
    """An id that the engine's model does not have; sending it would end SGLang 0.5.23."""

    code = "token_out_of_vocabulary"
    http_status = 500


class ServerUnreachable(EngineError):
    """No connection to the session server, or no answer in time."""

    code = "server_unreachable"


class ServerRefused(EngineError):
    """The session server, or a proxy before it, gave no usable answer; ``details.status`` is its status."""

    code = "server_refused"


class SessionError(TitoError):
    """A request that the session's history forbids."""

    exit_code = 3


class SessionNotFound(SessionError):
    """No session of that id."""

    code = "session_not_found"
    http_status = 404


class SessionDeleted(SessionError):
    """The session was deleted; later requests are refused so that an agent stops."""

    code = "session_deleted"
    http_status = 410


class RollbackTooDeep(SessionError):
    """A linear session was asked to discard more than its last turn."""

    code = "rollback_too_deep"


class TruncatedPath(SessionError):
    """The turn to extend ended at a length limit; its path is closed."""

    code = "truncated_path"
    http_status = 409


class StaleCommit(SessionError):
    """The session moved on while the engine generated; the completion was not kept."""

    code = "stale_commit"
    http_status = 409


class PinnedKwarg(SessionError):
    """A template kwarg that the path chose on its first turn, given with another value."""

    code = "pinned_kwarg"


class ToolsChanged(SessionError):
    """Another tool list on a continued path; the first one is written into the prefix."""

    code = "tools_changed"


class SessionLimit(SessionError):
    """A limit of the session or of the server is reached."""

    code = "session_limit"
    http_status = 409


class SamplesImpossible(SessionError):
    """Committed turns that do not make a sample; ``details`` says which and why."""

    code = "samples_impossible"
    http_status = 422


class SampleHookFailed(SessionError):
    """A picker or a postprocessor that raised or broke its contract; ``details`` names both."""

    code = "sample_hook_failed"
    http_status = 422


class TurnAborted(SessionError):
    """A turn that was cancelled while it was generated; nothing of it was kept."""

    code = "turn_aborted"
    http_status = 409


class InternalError(TitoError):
    """A bug in titocli; the only error whose traceback is kept, in a file or a server's log."""

    code = "internal_error"
    http_status = 500
