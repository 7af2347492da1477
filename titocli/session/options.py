"""What a session is created with: its purpose, its sampling, its template kwargs, free metadata."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from titocli.errors import UnsupportedRequest
from titocli.jsonvalue import JsonObject, JsonValue

#: Sampling options that a session has defaults for.
SAMPLING = ("temperature", "top_p", "top_k")
#: More than any vocabulary has; engines keep it in 32 bits.
_MAX_TOP_K = 2**31


class SessionPurpose(StrEnum):
    """What becomes of a session's turns.

    A training session holds requests to what a trainer can reproduce: the session's temperature, and no
    bounded sampling.  An evaluation session may sample as it likes and asks the engine for no replay data.
    Of an open one nothing is known, and nothing is checked.
    """

    OPEN = "open"
    TRAINING = "training"
    EVALUATION = "evaluation"


class SamplingConflict(StrEnum):
    """What becomes of a request whose sampling a training session does not allow."""

    REFUSE = "refuse"
    #: The session's own value is taken: for clients whose sampling cannot be configured.
    OVERRIDE = "override"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """A session's options; None is a default that is not given.

    ``metadata`` is the creator's own and only kept.  ``template_kwargs`` stand between the launch's and a
    request's.  Raises ``UnsupportedRequest`` for a value that sampling cannot have, and for bounded sampling
    as the default of a training session.
    """

    purpose: SessionPurpose = SessionPurpose.OPEN
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    sampling_conflict: SamplingConflict = SamplingConflict.REFUSE
    template_kwargs: Mapping[str, JsonValue] = field(default_factory=dict)
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise for values that cannot be."""
        _require("temperature", self.temperature, _is_temperature, "a number from 0 on")
        _require("top_p", self.top_p, _is_top_p, "a number above 0, at most 1")
        _require("top_k", self.top_k, _is_top_k, "a whole number from 1 on, or -1 for none")
        if self.purpose is SessionPurpose.TRAINING:
            for name in SAMPLING:
                if is_bounded(name, self.default(name)):
                    raise bounded_sampling(name)

    def default(self, name: str) -> float | None:
        """The session's default of one of ``SAMPLING``."""
        defaults = {"temperature": self.temperature, "top_p": self.top_p, "top_k": self.top_k}
        return defaults[name]


def session_options(body: JsonObject) -> SessionOptions:
    """The options in the body of a request that creates a session; null is not given.

    ``evaluation`` true or false says the purpose; without it a session with a temperature is for training.
    Raises ``UnsupportedRequest`` for fields that do not exist and values of another type.
    """
    given = {name: value for name, value in body.items() if value is not None}
    known = {*SAMPLING, "evaluation", "sampling_conflict", "chat_template_kwargs", "metadata"}
    for name in given.keys() - known:
        raise _invalid(name, f"a session has no {name!r}", f"it has {', '.join(sorted(known))}")
    return SessionOptions(
        purpose=_purpose(given),
        temperature=_number(given, "temperature"),
        top_p=_number(given, "top_p"),
        top_k=_whole_number(given, "top_k"),
        sampling_conflict=_conflict(given.get("sampling_conflict", SamplingConflict.REFUSE.value)),
        template_kwargs=_object(given, "chat_template_kwargs"),
        metadata=_object(given, "metadata"),
    )


def is_bounded(name: str, value: JsonValue) -> bool:
    """Whether a sampling option leaves tokens out: log-probs are then not those of the whole vocabulary."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return value < 1 if name == "top_p" else name == "top_k" and value > 0


def bounded_sampling(name: str) -> UnsupportedRequest:
    """The error about a training session that would sample from a part of the vocabulary."""
    return _invalid(
        name,
        f"{name} leaves tokens out, and a trainer would compute log-probs of the whole vocabulary",
        f"leave {name} out in a training session, or create an evaluation session",
    )


def _purpose(given: JsonObject) -> SessionPurpose:
    evaluation = given.get("evaluation")
    if evaluation is None:
        return SessionPurpose.TRAINING if "temperature" in given else SessionPurpose.OPEN
    if not isinstance(evaluation, bool):
        raise _invalid("evaluation", "evaluation must be true or false", "leave it out for an open session")
    return SessionPurpose.EVALUATION if evaluation else SessionPurpose.TRAINING


def _conflict(value: JsonValue) -> SamplingConflict:
    for conflict in SamplingConflict:
        if value == conflict.value:
            return conflict
    raise _invalid(
        "sampling_conflict", "sampling_conflict must be refuse or override", "refuse is the default"
    )


def _number(given: JsonObject, name: str) -> float | None:
    value = given.get(name)
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    raise _invalid(name, f"{name} must be a number", f"for example {name}: 1")


def _whole_number(given: JsonObject, name: str) -> int | None:
    value = given.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise _invalid(name, f"{name} must be a whole number", f"for example {name}: -1")


def _object(given: JsonObject, name: str) -> Mapping[str, JsonValue]:
    value = given.get(name, {})
    if isinstance(value, Mapping):
        return value
    raise _invalid(name, f"{name} must be an object", "leave it out where there is nothing to say")


def _is_temperature(value: float) -> bool:
    return 0 <= value <= sys.float_info.max  # JSON's whole numbers may be larger than any double


def _is_top_p(value: float) -> bool:
    return 0 < value <= 1


def _is_top_k(value: float) -> bool:
    return value == -1 or 1 <= value < _MAX_TOP_K


def _require(name: str, value: float | None, fits: Callable[[float], bool], what: str) -> None:
    if value is not None and not fits(value):
        raise _invalid(name, f"{name} is {value!r}", f"it is {what}")


def _invalid(param: str, message: str, hint: str) -> UnsupportedRequest:
    return UnsupportedRequest(message, hint=hint, details={"param": param})


__all__ = [
    "SAMPLING",
    "SamplingConflict",
    "SessionOptions",
    "SessionPurpose",
    "bounded_sampling",
    "is_bounded",
    "session_options",
]
