"""What SGLang is asked for one turn; pure."""

from __future__ import annotations

from array import array
from collections.abc import Mapping

import msgspec

from titocli.jsonvalue import JsonObject, JsonValue
from titocli.session.generation import GenerateRequest, ReplayKind

# A session owns its prompt and gets one answer in one piece.
_NEVER_PASSED_ON = frozenset({"stream", "stream_options", "n", "input_ids"})
# SGLang 0.5.23 refuses these together with streaming.
_NOT_WHILE_STREAMING = frozenset({"return_meta_info", "return_token_ids", "return_prompt_token_ids"})


def chat_body(request: GenerateRequest, model: str) -> JsonObject:
    """The body of ``POST /v1/chat/completions``; what titocli owns wins over the request's options.

    ``chat_template_kwargs`` shape no prompt here, but the engine's parsers read them (a think block that the
    prompt closed).  ``no_stop_trim`` is off, so that the message does not end in the stop token's text.
    """
    options = {key: value for key, value in request.options.items() if key not in _NEVER_PASSED_ON}
    owned: dict[str, JsonValue] = {
        "model": model,
        "messages": request.messages,
        "input_ids": request.prompt_ids.tolist(),
        "rid": request.request_id,
        "chat_template_kwargs": request.template_kwargs,
        "logprobs": True,
        "return_meta_info": True,
        "no_stop_trim": False,
    }
    if request.tools:
        owned["tools"] = request.tools
    return {**options, **owned, **_replay(request)}


def _replay(request: GenerateRequest) -> JsonObject:
    """What asks for replay data; nothing where the session wants none."""
    if request.replay is None:
        return {}
    kinds = request.replay.outputs.kinds
    asked: dict[str, JsonValue] = {f"return_{kind.value}": True for kind in sorted(kinds)}
    if ReplayKind.ROUTED_EXPERTS in kinds and request.replay.start is not None:
        asked["routed_experts_start_len"] = request.replay.start
    return asked


def stream_body(request: GenerateRequest, model: str) -> JsonObject:
    """The body that streams and brings the sampled ids in its last chunk (SGLang 0.5.20 and newer)."""
    whole = chat_body(request, model)
    body = {key: value for key, value in whole.items() if key not in _NOT_WHILE_STREAMING}
    return {
        **body,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_output_ids_in_sglext": True,
        "return_input_ids_in_sglext": bool(request.options.get("return_prompt_token_ids")),
    }


def encoded(body: JsonObject) -> bytes:
    """A request body as JSON."""
    return msgspec.json.encode(body, enc_hook=_plain)


def _plain(value: object) -> JsonValue:
    """What msgspec does not know: read-only mappings and arrays."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, array):
        return list(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


__all__ = ["chat_body", "encoded", "stream_body"]
