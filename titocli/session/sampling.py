"""A request's engine options under a session's: refused control fields, sampling defaults, replay data."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from titocli.errors import UnsupportedRequest
from titocli.jsonvalue import JsonValue
from titocli.session.options import (
    SAMPLING,
    SamplingConflict,
    SessionOptions,
    SessionPurpose,
    bounded_sampling,
    is_bounded,
)

#: Options that would take the tokens, the weights or the replay data out of the session's hands, and why.
_REFUSED: Mapping[str, str] = MappingProxyType(
    {
        "input_ids": "the session renders the prompt's token ids",
        "lora_path": "the served adapter is chosen when the engine is launched",
        "routed_experts_start_len": "the session counts which rows are still missing",
        "logprob_start_len": "log-probs of the prompt would defeat prefix caching",
    }
)
#: Replay data that SGLang sends with a generation; nobody trains on an evaluation.
_REPLAY_OUTPUTS = ("return_routed_experts", "return_indexer_topk")


def resolve_options(session: SessionOptions, asked: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The options of a turn: the request's over the session's defaults; null is not given.

    Raises ``UnsupportedRequest`` for control fields, and for sampling that a training session does not allow.
    """
    given = {name: value for name, value in asked.items() if value is not None}
    evaluation = session.purpose is SessionPurpose.EVALUATION
    if evaluation:
        given.pop("routed_experts_start_len", None)
    refuse_control_fields(given)
    resolved = given | _sampling(session, given)
    if session.purpose is SessionPurpose.TRAINING:
        resolved = _unbounded(session, resolved)
    return resolved | (dict.fromkeys(_REPLAY_OUTPUTS, False) if evaluation else {})


def refuse_control_fields(options: Mapping[str, JsonValue]) -> None:
    """Raise ``UnsupportedRequest`` for an option that belongs to the session."""
    for name, reason in _REFUSED.items():
        if options.get(name) is not None:
            raise _unsupported(name, f"{name} is not accepted", reason)


def _sampling(session: SessionOptions, given: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The session's defaults that are not given, and its temperature where it may not be another."""
    defaults = {name: value for name in SAMPLING if (value := session.default(name)) is not None}
    missing: dict[str, JsonValue] = {name: value for name, value in defaults.items() if name not in given}
    if session.purpose is not SessionPurpose.TRAINING or session.temperature is None:
        return missing
    asked = given.get("temperature", session.temperature)
    if isinstance(asked, bool) or asked != session.temperature:
        if session.sampling_conflict is SamplingConflict.REFUSE:
            raise _other_temperature(asked, session.temperature)
        missing["temperature"] = session.temperature
    return missing


def _unbounded(session: SessionOptions, resolved: dict[str, JsonValue]) -> dict[str, JsonValue]:
    bounded = [name for name in SAMPLING if is_bounded(name, resolved.get(name))]
    if bounded and session.sampling_conflict is SamplingConflict.REFUSE:
        raise bounded_sampling(bounded[0])
    own: dict[str, JsonValue] = {name: session.default(name) for name in bounded}
    kept = {name: value for name, value in resolved.items() if name not in own}
    return kept | {name: value for name, value in own.items() if value is not None}


def _other_temperature(asked: JsonValue, own: float) -> UnsupportedRequest:
    return _unsupported(
        "temperature",
        f"temperature={asked!r} does not match the training session temperature={own!r}",
        "leave temperature out, or create the session with sampling_conflict override",
    )


def _unsupported(param: str, message: str, hint: str) -> UnsupportedRequest:
    return UnsupportedRequest(message, hint=hint, details={"param": param})


__all__ = ["refuse_control_fields", "resolve_options"]
