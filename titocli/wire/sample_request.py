"""What a collector may say when it asks for samples."""

from __future__ import annotations

import math
from collections.abc import Mapping

from titocli.errors import InvalidSampleRequest, UnknownName
from titocli.jsonvalue import JsonObject, JsonValue
from titocli.session.samples.assembly import SampleRequest

_FIELDS = ("max_seq_len", "metadata")
#: More than any length has.
_MAX_DIGITS = 18


def sample_request(body: JsonObject, *, default_max_seq_len: int | None = None) -> SampleRequest:
    """The request in a body ``{"max_seq_len"?, "metadata"?}``; null is as good as nothing.

    Raises ``UnknownName`` for another field and ``InvalidSampleRequest`` for a value of the wrong kind.
    """
    for name in body:
        if name not in _FIELDS:
            raise UnknownName.among("field", name, _FIELDS)
    limit = body.get("max_seq_len")
    return SampleRequest(
        max_seq_len=default_max_seq_len if limit is None else _max_seq_len(limit),
        agent_metadata=_agent_metadata(body.get("metadata")),
    )


def max_seq_len_of(text: str) -> int:
    """``max_seq_len`` as a query string spells it; raises ``InvalidSampleRequest``."""
    whole = text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS
    return _max_seq_len(int(text) if whole else text)


def _max_seq_len(value: JsonValue) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidSampleRequest(
            "max_seq_len must be a whole number from 1 on", details={"param": "max_seq_len"}
        )
    return value


def _agent_metadata(value: JsonValue) -> JsonObject:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidSampleRequest("metadata must be an object", details={"param": "metadata"})
    reward = value.get("reward")
    if reward is not None and not _is_number(reward):
        raise InvalidSampleRequest(
            "metadata.reward must be a finite number", details={"param": "metadata.reward"}
        )
    return value


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


__all__ = ["max_seq_len_of", "sample_request"]
