"""Sampling parameters of the embedded engine, read from a request's options."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from titocli.errors import UnsupportedRequest
from titocli.jsonvalue import JsonValue
from titocli.session.generation import GenerateRequest

_DEFAULT_MAX_TOKENS = 1024

#: Options that would change what is sampled and are not built, with the values that change nothing.
_NEUTRAL: Mapping[str, tuple[JsonValue, ...]] = {
    "stop": (None, "", []),
    "n": (None, 1),
    "best_of": (None, 1),
    "top_k": (None, -1, 0),
    "min_p": (None, 0),
    "min_tokens": (None, 0),
    "presence_penalty": (None, 0),
    "frequency_penalty": (None, 0),
    "repetition_penalty": (None, 1),
    "logit_bias": (None, {}),
    "regex": (None, ""),
    "ebnf": (None, ""),
    "json_schema": (None, ""),
    "response_format": (None, {"type": "text"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How to draw: temperature 0 is greedy; ``seed`` fixes every draw of the generation.

    ``top_log_probs`` is how many of the likeliest ids to tell of each step.
    """

    temperature: float
    top_p: float
    max_tokens: int
    seed: int
    stop_token_ids: frozenset[int]
    ignore_eos: bool
    top_log_probs: int = 0


def read_sampling(request: GenerateRequest, *, engine_seed: int) -> Sampling:
    """The request's sampling parameters; raises ``UnsupportedRequest`` naming the option that cannot be used.

    Without ``seed`` the draw depends on the engine's seed, the session and the prompt's length, so that the
    same session replayed gives the same ids.
    """
    options = request.options
    _refuse_unbuilt(options)
    most = "max_tokens" if options.get("max_completion_tokens") is None else "max_completion_tokens"
    return Sampling(
        temperature=_number(options, "temperature", 1.0, least=0.0),
        top_p=_top_p(options),
        max_tokens=_integer(options, most, _DEFAULT_MAX_TOKENS, least=1),
        seed=_integer(options, "seed", _derived_seed(request, engine_seed)) % 2**63,
        stop_token_ids=_ids(options, "stop_token_ids"),
        ignore_eos=_flag(options, "ignore_eos"),
        top_log_probs=_integer(options, "top_logprobs", 0, least=0),
    )


def _refuse_unbuilt(options: Mapping[str, JsonValue]) -> None:
    for name, neutral in _NEUTRAL.items():
        if options.get(name) not in neutral:
            raise _refused(name, f"the embedded engine cannot honour {name!r}")


def _derived_seed(request: GenerateRequest, engine_seed: int) -> int:
    origin = f"{engine_seed}:{len(request.prompt_ids)}:{request.session_id}"
    return int.from_bytes(hashlib.sha256(origin.encode()).digest()[:7])


def _number(options: Mapping[str, JsonValue], name: str, default: float, *, least: float) -> float:
    value = options.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < float("inf"):
        raise _refused(name, f"{name} must be a number of at least {least:g}")
    return float(value)


def _top_p(options: Mapping[str, JsonValue]) -> float:
    top_p = _number(options, "top_p", 1.0, least=0.0)
    if not 0.0 < top_p <= 1.0:
        raise _refused("top_p", "top_p must be above 0 and at most 1")
    return top_p


def _integer(options: Mapping[str, JsonValue], name: str, default: int, *, least: int | None = None) -> int:
    value = options.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or (least is not None and value < least):
        raise _refused(
            name, f"{name} must be an integer" + ("" if least is None else f" of at least {least}")
        )
    return value


def _ids(options: Mapping[str, JsonValue], name: str) -> frozenset[int]:
    value = options.get(name)
    listed = [] if value is None else value
    if isinstance(listed, str) or not isinstance(listed, list | tuple):
        raise _refused(name, f"{name} must be a list of token ids")
    if any(isinstance(item, bool) or not isinstance(item, int) for item in listed):
        raise _refused(name, f"{name} must be a list of token ids")
    return frozenset(listed)


def _flag(options: Mapping[str, JsonValue], name: str) -> bool:
    value = options.get(name)
    if value is not None and not isinstance(value, bool):
        raise _refused(name, f"{name} must be true or false")
    return bool(value)


def _refused(name: str, sentence: str) -> UnsupportedRequest:
    return UnsupportedRequest(
        sentence, hint=f"leave {name!r} out, or use another engine", details={"param": name}
    )


__all__ = ["Sampling", "read_sampling"]
