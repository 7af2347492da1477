"""Matchers: when a replayed message is the stored one.

=====================  ==================================================================================
``strict``             role, content, reasoning, tool calls, tool-call id and name are equal by value and
                       JSON type
``loose_tool_call``    as strict, but the arguments of a call are compared as a JSON object
``role_content_only``  role and content alone; different tool calls become one lineage
a dotted path          a synchronous function ``(stored, replayed) -> bool``
=====================  ==================================================================================

In all built-in ones null, ``""``, ``[]`` and missing are equal; a tool call's ``index`` (a streaming
artefact) and every other key (``refusal``, ``annotations``, ...) are ignored.  A match decides identity only:
the stored spelling and the stored ids stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeAlias

from titocli.errors import InvalidMessages, UnknownName, UsageError
from titocli.jsonvalue import JsonObject, JsonValue, Message
from titocli.session.canonical import canonical_arguments, canonical_json
from titocli.session.dotted_path import load_function

_STRICT_KEYS = ("role", "content", "reasoning_content", "tool_calls", "tool_call_id", "name")
_ROLE_CONTENT_KEYS = ("role", "content")

#: The digest of a conversation without messages.
NO_MESSAGES = bytes(16)


class MatcherContract(UsageError):
    """A message matcher of the user's that raised, or answered with something else than a bool."""

    code = "matcher_contract"
    http_status = 500


@dataclass(frozen=True, slots=True)
class HashedMatcher:
    """A matcher by what it sees of a message: two messages match when that is spelled the same."""

    name: str
    seen: Callable[[Message], JsonObject]

    def digest(self, message: Message, *, after: bytes = NO_MESSAGES) -> bytes:
        """16 bytes that identify a message and all before it, whose digest is ``after``.

        Raises ``InvalidMessages`` for a message that is nested too deeply.
        """
        try:
            spelled = canonical_json(self.seen(message))
        except RecursionError as error:
            raise InvalidMessages("a message is nested too deeply") from error
        return blake2b(after + spelled, digest_size=len(NO_MESSAGES)).digest()


@dataclass(frozen=True, slots=True)
class PredicateMatcher:
    """A matcher by a function of the user's; the function must not change what it is given."""

    name: str
    predicate: Callable[[Message, Message], object]

    def same(self, stored: Message, replayed: Message) -> bool:
        """The function's answer; raises ``MatcherContract`` where it raises or answers with no bool."""
        try:
            answer = self.predicate(stored, replayed)
        except Exception as error:
            # Whatever the user's code raises is neither a match nor a mismatch.
            raise self._broken(f"raised {type(error).__name__}") from error
        if not isinstance(answer, bool):
            raise self._broken(f"returned {type(answer).__name__}, not bool")
        return answer

    def _broken(self, what: str) -> MatcherContract:
        return MatcherContract(
            f"the message matcher {self.name!r} {what}",
            hint="a matcher returns True or False for every pair of messages",
            details={"matcher": self.name},
        )


Matcher: TypeAlias = HashedMatcher | PredicateMatcher


def _present(message: Message, keys: Sequence[str]) -> dict[str, JsonValue]:
    return {key: message[key] for key in keys if message.get(key) not in (None, "", [])}


def _strict(message: Message) -> JsonObject:
    return _with_calls(message, lambda call: call)


def _loose_tool_call(message: Message) -> JsonObject:
    return _with_calls(message, _by_value)


def _role_content_only(message: Message) -> JsonObject:
    return _present(message, _ROLE_CONTENT_KEYS)


def _with_calls(message: Message, seen: Callable[[JsonObject], JsonObject]) -> JsonObject:
    compared = _present(message, _STRICT_KEYS)
    calls = compared.get("tool_calls")
    if isinstance(calls, Sequence) and not isinstance(calls, str):
        compared["tool_calls"] = [
            seen(_without_index(call)) if isinstance(call, Mapping) else call for call in calls
        ]
    return compared


def _without_index(call: JsonObject) -> JsonObject:
    return {key: value for key, value in call.items() if key != "index"}


def _by_value(call: JsonObject) -> JsonObject:
    """The call with arguments that are an object in their canonical spelling, others as they are."""
    function = call.get("function")
    if not isinstance(function, Mapping) or "arguments" not in function:
        return call
    arguments = canonical_arguments(function["arguments"])
    if arguments is None:
        return {**call, "function": {**function, "arguments": ["as it is", function["arguments"]]}}
    return {**call, "function": {**function, "arguments": ["object", arguments.decode()]}}


STRICT = HashedMatcher("strict", _strict)
LOOSE_TOOL_CALL = HashedMatcher("loose_tool_call", _loose_tool_call)
ROLE_CONTENT_ONLY = HashedMatcher("role_content_only", _role_content_only)
BUILT_IN = (STRICT, LOOSE_TOOL_CALL, ROLE_CONTENT_ONLY)


def find_matcher(selector: str) -> Matcher:
    """The matcher that a selector names: a built-in one's name, or the dotted path of a function.

    Raises ``UnknownName``, or ``InvalidOption`` for a path that names no synchronous function.
    """
    built_in = {matcher.name: matcher for matcher in BUILT_IN}
    if selector in built_in:
        return built_in[selector]
    if "." not in selector and ":" not in selector:
        raise UnknownName.among("message matcher", selector, built_in)
    return PredicateMatcher(selector, load_function(selector, option="message matcher"))


__all__ = [
    "BUILT_IN",
    "LOOSE_TOOL_CALL",
    "NO_MESSAGES",
    "ROLE_CONTENT_ONLY",
    "STRICT",
    "HashedMatcher",
    "Matcher",
    "MatcherContract",
    "PredicateMatcher",
    "find_matcher",
]
