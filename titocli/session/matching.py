"""The strict matcher: when a replayed message is the stored one.

Role, content, reasoning, tool calls, tool-call id and name must be equal by value and JSON type (``true``
is not ``1``); null, ``""``, ``[]`` and missing are equal; a tool call's ``index`` (a streaming artefact) and
every other key (``refusal``, ``annotations``, ...) are ignored.  Each message is hashed once; a path is a
chain of hashes, so that finding where a request attaches costs one look-up a message, whatever the size of
the tree.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b

import msgspec

from titocli.jsonvalue import JsonValue, Message

_COMPARED_KEYS = ("role", "content", "reasoning_content", "tool_calls", "tool_call_id", "name")

#: The digest of the empty path.
ROOT_DIGEST = b""


def canonical_json(value: JsonValue) -> bytes:
    """One spelling for equal JSON values: sorted keys, no spaces; numbers keep their type."""
    try:
        return msgspec.json.encode(value, order="deterministic")
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8
        return json.dumps(value, sort_keys=True).encode()


def message_digest(message: Message) -> bytes:
    """The digest of what the strict matcher compares of a message."""
    compared = {key: message[key] for key in _COMPARED_KEYS if message.get(key) not in (None, "", [])}
    calls = compared.get("tool_calls")
    if isinstance(calls, Sequence) and not isinstance(calls, str):
        compared["tool_calls"] = [_without_index(call) for call in calls]
    return blake2b(canonical_json(compared), digest_size=16).digest()


def _without_index(call: JsonValue) -> JsonValue:
    if not isinstance(call, Mapping):
        return call
    return {key: value for key, value in call.items() if key != "index"}


def extend_digest(path: bytes, messages: Iterable[Message]) -> bytes:
    """The digest of a path with more messages at its end."""
    for digest in prefix_digests(path, messages):
        path = digest
    return path


def prefix_digests(path: bytes, messages: Iterable[Message]) -> Iterator[bytes]:
    """The digest of the path after each of ``messages``, in order."""
    for message in messages:
        path = blake2b(path + message_digest(message), digest_size=16).digest()
        yield path


__all__ = ["ROOT_DIGEST", "canonical_json", "extend_digest", "message_digest", "prefix_digests"]
