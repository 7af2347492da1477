"""From SGLang's answer to a chat completion to a ``Completion``; pure.

Shapes are those of SGLang 0.5.23; all that is needed is there from 0.5.13 on.  Ids come from
``meta_info.output_token_logprobs`` alone: ``logprobs.content`` has no ids, and the text is lossy.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import TypeGuard

import msgspec

from titocli.engine.sglang_errors import broken
from titocli.engine.sglang_replay import replay_payloads
from titocli.errors import EngineAborted
from titocli.jsonvalue import JsonObject, JsonValue, Message
from titocli.session.generation import Completion, FinishReason, ReplayKind, ReplayRequest, WeightVersion
from titocli.tokens.ids import TokenIds, token_ids


def read_reply(body: bytes, prompt_ids: TokenIds, replay: ReplayRequest | None = None) -> Completion:
    """The completion in the body of a 200; ``replay`` is the replay data that was asked for.

    Raises ``EngineAborted`` for an aborted generation (its partial ids are dropped), and
    ``EngineBrokeProtocol`` for anything that cannot be trusted token by token.
    """
    reply = _object(_decoded(body), "the reply")
    choice = _first_choice(reply)
    if choice.get("finish_reason") == "abort":
        raise aborted(reply.get("id"))
    meta = _object(choice.get("meta_info"), "choices[0].meta_info")
    entries = _entries(meta)
    message = _message(choice.get("message"))
    _require_counts(meta, entries, prompt_ids)
    return Completion(
        ids=_ids(entries),
        log_probs=_log_probs(entries),
        finish_reason=finish_reason_of(choice.get("finish_reason")),
        message=message,
        response_id=_text_or_none(reply.get("id")) or "",
        model=_text_or_none(reply.get("model")) or "",
        cached_tokens=_int_or_none(meta.get("cached_tokens")),
        matched_stop=matched_stop_of(choice.get("matched_stop")),
        weight_versions=_weight_versions(meta, len(entries)),
        engine_prompt_ids=_engine_prompt_ids(choice, prompt_ids),
        top_log_probs=_top_log_probs(choice, len(entries)),
        metadata=_metadata(meta),
        replay=replay_payloads(meta, replay),
    )


def aborted(response_id: JsonValue) -> EngineAborted:
    """The error for a generation that the engine ended before its time."""
    return EngineAborted(
        "the engine aborted the generation before it was complete",
        hint="send the request again; nothing of it was kept",
        details={"response_id": _text_or_none(response_id)},
    )


def _top_log_probs(choice: JsonObject, count: int) -> tuple[JsonValue, ...]:
    """The alternatives of each id; nothing where none were asked for."""
    log_probs = choice.get("logprobs")
    content = log_probs.get("content") if isinstance(log_probs, Mapping) else None
    if not _is_list(content) or len(content) != count:
        return ()
    listed = [entry.get("top_logprobs") if isinstance(entry, Mapping) else None for entry in content]
    return tuple(listed) if all(listed) else ()


def _decoded(body: bytes) -> JsonValue:
    try:
        decoded: JsonValue = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        broken("the reply is not JSON")
    return decoded


def _first_choice(reply: JsonObject) -> JsonObject:
    choices = reply.get("choices")
    if not _is_list(choices) or not choices:
        broken("the reply has no choices")
    return _object(choices[0], "choices[0]")


def _entries(meta: JsonObject) -> Sequence[JsonValue]:
    """One ``[log-prob, id, ...]`` a sampled token."""
    entries = meta.get("output_token_logprobs")
    if not _is_list(entries):
        broken("choices[0].meta_info has no output_token_logprobs")
    return entries


def _require_counts(meta: JsonObject, entries: Sequence[JsonValue], prompt_ids: TokenIds) -> None:
    completion_tokens, prompt_tokens = meta.get("completion_tokens"), meta.get("prompt_tokens")
    if completion_tokens != len(entries):
        broken(
            f"the engine counts {completion_tokens} completion tokens and returned {len(entries)} of them",
            completion_tokens=_int_or_none(completion_tokens),
            output_token_logprobs=len(entries),
        )
    if prompt_tokens is not None and prompt_tokens != len(prompt_ids):
        broken(
            f"the engine counts {prompt_tokens} prompt tokens and was sent {len(prompt_ids)}",
            prompt_tokens=_int_or_none(prompt_tokens),
            sent=len(prompt_ids),
        )


def _ids(entries: Sequence[JsonValue]) -> TokenIds:
    ids = [entry[1] if _is_list(entry) and len(entry) > 1 else None for entry in entries]
    return checked_ids(ids, "output_token_logprobs")


def checked_ids(ids: Sequence[JsonValue], where: str) -> TokenIds:
    """The ids as an array; raises ``EngineBrokeProtocol`` naming ``where`` for what is no token id."""
    if not all(type(token_id) is int and token_id >= 0 for token_id in ids):
        broken(f"{where} holds something that is not a token id")
    try:
        return token_ids(ids)  # type: ignore[arg-type] # the line above leaves only integers
    except OverflowError:
        broken(f"{where} holds an id beyond 32 bits")


def _log_probs(entries: Sequence[JsonValue]) -> array[float]:
    log_probs = [entry[0] if _is_list(entry) else None for entry in entries]
    if not all(type(log_prob) in (float, int) for log_prob in log_probs):
        broken("output_token_logprobs holds a token without a log-prob")
    return array("d", log_probs)  # type: ignore[arg-type] # the line above leaves only numbers


def finish_reason_of(value: JsonValue) -> FinishReason:
    """Why the engine ended; raises ``EngineBrokeProtocol`` for a reason that is not known."""
    try:
        return FinishReason(str(value))
    except ValueError:
        broken("the engine ended for an unknown reason", finish_reason=str(value)[:40])


def _message(value: JsonValue) -> Message:
    received = _object(value, "choices[0].message")
    content = received.get("content")
    if not isinstance(content, str):
        broken("choices[0].message.content is not a string")
    message: dict[str, JsonValue] = {"role": "assistant", "content": content}
    reasoning, calls = received.get("reasoning_content"), received.get("tool_calls")
    if reasoning:
        message["reasoning_content"] = reasoning
    if calls:
        message["tool_calls"] = _tool_calls(calls)
    return message


def _tool_calls(calls: JsonValue) -> list[JsonValue]:
    if not _is_list(calls):
        broken("choices[0].message.tool_calls is not a list")
    return [_tool_call(_object(call, "a tool call")) for call in calls]


def _tool_call(call: JsonObject) -> JsonObject:
    """A call in OpenAI's shape; SGLang's ``index`` belongs to streaming only."""
    function = _object(call.get("function"), "a tool call's function")
    name, arguments = function.get("name"), function.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, str):
        broken("a tool call has no name or no arguments")
    return {"id": call.get("id"), "type": "function", "function": {"name": name, "arguments": arguments}}


def _engine_prompt_ids(choice: JsonObject, prompt_ids: TokenIds) -> TokenIds | None:
    """The prompt that the engine says it read (with ``return_prompt_token_ids``), which must be ours."""
    reported = choice.get("prompt_token_ids")
    if reported is None:
        return None
    read = checked_ids(reported if _is_list(reported) else [None], "prompt_token_ids")
    if read != prompt_ids:
        pairs = enumerate(zip(read, prompt_ids, strict=False))
        first = next(
            (index for index, (theirs, ours) in pairs if theirs != ours), min(len(read), len(prompt_ids))
        )
        broken("the engine read another prompt than it was sent", first_difference=first)
    return read


def _weight_versions(meta: JsonObject, completion_tokens: int) -> tuple[WeightVersion, ...]:
    """The spans, or before 0.5.19 the one version as a span over everything."""
    spans = meta.get("weight_versions")
    if _is_list(spans):
        return tuple(_weight_version(_object(span, "a span of weight_versions")) for span in spans)
    version = meta.get("weight_version")
    if version is None:
        return ()
    return (WeightVersion(version=str(version), start=0, end=completion_tokens),)


def _weight_version(span: JsonObject) -> WeightVersion:
    start, end = _int_or_none(span.get("start")), _int_or_none(span.get("end"))
    if start is None or end is None:
        broken("a span of weight_versions has no start or no end")
    return WeightVersion(version=str(span.get("version")), start=start, end=end)


def _metadata(meta: JsonObject) -> JsonObject:
    """What else the engine tells in single values (latencies, retractions)."""
    known = ("prompt_tokens", "completion_tokens", "cached_tokens", *map(str, ReplayKind))
    return {
        key: value
        for key, value in meta.items()
        if key not in known and not isinstance(value, Mapping) and not _is_list(value)
    }


def matched_stop_of(value: JsonValue) -> int | str | None:
    """The stop id or string, None for anything else."""
    return value if type(value) is int or isinstance(value, str) else None


def _object(value: JsonValue, what: str) -> JsonObject:
    if not isinstance(value, Mapping):
        broken(f"{what} is not an object")
    return value


def _is_list(value: JsonValue) -> TypeGuard[Sequence[JsonValue]]:
    return isinstance(value, list)


def _int_or_none(value: JsonValue) -> int | None:
    return value if type(value) is int else None


def _text_or_none(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None


__all__ = ["aborted", "checked_ids", "finish_reason_of", "matched_stop_of", "read_reply"]
