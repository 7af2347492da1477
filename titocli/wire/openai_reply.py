"""Committed turns as OpenAI chat completions, and errors in OpenAI's shape."""

from __future__ import annotations

from titocli.errors import TitoError
from titocli.jsonvalue import JsonObject, JsonValue
from titocli.session.generation import Completion
from titocli.session.tree import Turn
from titocli.tokens.tokenizer import Tokenizer

_FIRST_SERVER_STATUS = 500


def chat_completion(turn: Turn, *, log_probs: JsonValue = None) -> JsonObject:
    """The body of a chat completion; ``log_probs`` goes into its choice (null when not asked for)."""
    completion = turn.completion
    choice: dict[str, JsonValue] = {
        "index": 0,
        "message": completion.message,
        "finish_reason": completion.finish_reason.value,
        "logprobs": log_probs,
        **choice_details(completion),
    }
    return {
        "id": completion.response_id,
        "object": "chat.completion",
        "created": int(turn.committed_at),
        "model": completion.model,
        "choices": [choice],
        "usage": usage(turn),
    }


def choice_details(completion: Completion) -> JsonObject:
    """What a choice has beside OpenAI's fields, as SGLang names it: the stop, the prompt ids when asked."""
    details: dict[str, JsonValue] = {}
    if completion.matched_stop is not None:
        details["matched_stop"] = completion.matched_stop
    if completion.engine_prompt_ids is not None:
        details["prompt_token_ids"] = completion.engine_prompt_ids.tolist()
    return details


def usage(turn: Turn) -> JsonObject:
    """Token counts of a turn, in OpenAI's words."""
    completion = turn.completion
    cached = completion.cached_tokens
    return {
        "prompt_tokens": turn.prompt_length,
        "completion_tokens": len(completion.ids),
        "total_tokens": turn.token_count,
        "prompt_tokens_details": None if cached is None else {"cached_tokens": cached},
    }


def choice_log_probs(turn: Turn, tokenizer: Tokenizer) -> JsonObject:
    """The ``logprobs`` of a choice: one entry a sampled id, with its alternatives where there are some."""
    completion = turn.completion
    top = completion.top_log_probs or ([],) * len(completion.ids)
    rows = zip(completion.ids, completion.log_probs, top, strict=True)
    return {
        "content": [_log_prob(tokenizer.token_bytes(i), log_prob, others) for i, log_prob, others in rows]
    }


def _log_prob(spelled: bytes, log_prob: float, others: JsonValue) -> JsonObject:
    return {
        "token": spelled.decode(errors="replace"),
        "bytes": list(spelled),
        "logprob": log_prob,
        "top_logprobs": others,
    }


def error_body(error: TitoError) -> JsonObject:
    """An error in OpenAI's shape, with a stable code and a hint."""
    faulty = "invalid_request_error" if error.http_status < _FIRST_SERVER_STATUS else "server_error"
    return {
        "error": {
            "message": error.message,
            "type": faulty,
            "code": error.code,
            "param": error.details.get("param"),
            "hint": error.hint,
            "details": error.details,
        }
    }


__all__ = ["chat_completion", "choice_details", "choice_log_probs", "error_body", "usage"]
