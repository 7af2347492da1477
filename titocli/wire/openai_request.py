"""OpenAI chat-completion requests to a session's turn request; pure.

Every field is one of four kinds: read here, refused because no session can honour it, of the client's own
(kept from the engine), or an option of the engine.  Fields that are not known are passed on as options: an
engine has more of them than OpenAI, and SGLang ignores what it does not know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from titocli.families.effort import Effort
from titocli.jsonvalue import JsonObject, JsonValue
from titocli.session.arguments import TurnRequest
from titocli.wire.openai_options import engine_options, refuse, refuse_tool_choice

#: Fields that are read here.
_READ = {
    "messages",
    "tools",
    "model",
    "stream",
    "stream_options",
    "n",
    "chat_template_kwargs",
    "reasoning_effort",
    "reasoning",
    "modalities",
}

#: Fields by which clients and OpenAI's service organise themselves; they change no token.
_OF_THE_CLIENT = {
    "metadata",
    "prediction",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "store",
    "user",
    "verbosity",
}

#: Fields that would take the tokens out of the session's hands, or that nothing here can do, with what to do.
_REFUSED = {
    "input_ids": "the session renders the prompt's token ids",
    "input_embeds": "the session renders the prompt's token ids",
    "prompt": "send messages",
    "suffix": "send messages",
    "echo": "the session's records have the prompt",
    "best_of": "send several requests: each is a branch of its own",
    "logprob_start_len": "log-probs of the prompt would defeat prefix caching",
    "continue_final_message": "append a message instead",
    "add_generation_prompt": "every turn has a generation prompt",
    "chat_template": "the family owns the template",
    "functions": "use tools",
    "function_call": "use tool_choice",
    "audio": "only text is served",
    "web_search_options": "give the search as a tool",
    "image_data": "only text is served",
    "video_data": "only text is served",
    "rid": "the server names its requests; cancel with POST .../abort",
    "session_id": "the URL names the session",
    "session_params": "the URL names the session",
    "lora_path": "the served adapter is chosen when the engine is launched",
    "custom_logit_processor": "the server runs no code of a request",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """A chat-completion request: the turn that it asks for, and what its reply should show."""

    turn: TurnRequest
    log_probs: bool
    stream: bool
    include_usage: bool


def chat_request(body: JsonObject, *, vocab_size: int = 0) -> ChatRequest:
    """Read a request body; raises ``UnsupportedRequest`` for what titocli cannot honour.

    Token ids that the request names must be below ``vocab_size``; 0 when it is not known.
    """
    _refuse_unsupported(body)
    not_options = _READ | _OF_THE_CLIENT | _REFUSED.keys()
    given = {key: value for key, value in body.items() if key not in not_options}
    options = engine_options(given, vocab_size=vocab_size)
    refuse_tool_choice(body.get("tool_choice"), body.get("tools"))
    return ChatRequest(
        turn=TurnRequest(
            messages=body.get("messages"),
            tools=body.get("tools"),
            template_kwargs=_template_kwargs(body.get("chat_template_kwargs")),
            reasoning_effort=_reasoning_effort(body),
            options=options,
        ),
        log_probs=body.get("logprobs") is True,
        stream=_flag(body, "stream"),
        include_usage=_include_usage(body),
    )


def _refuse_unsupported(body: JsonObject) -> None:
    n = body.get("n")
    if n is not None and (type(n) is not int or n != 1):
        refuse("n", "n must be 1 in a session: one turn has one completion", "send several requests")
    for field, instead in _REFUSED.items():
        if body.get(field) is not None:
            refuse(field, f"{field} is not accepted", instead)
    if body.get("modalities") not in (None, ["text"]):
        refuse("modalities", 'modalities must be ["text"]', "only text is served")
    if not isinstance(body.get("model", ""), str | None):
        refuse("model", "model must be a string")
    _refuse_media(body.get("messages"))


def _refuse_media(messages: JsonValue) -> None:
    if isinstance(messages, str) or not isinstance(messages, Sequence):
        return  # refused with the messages themselves
    for index, message in enumerate(messages):
        content = message.get("content") if isinstance(message, Mapping) else None
        if isinstance(content, str) or not isinstance(content, Sequence):
            continue
        kinds = {str(part.get("type", "text")) for part in content if isinstance(part, Mapping)}
        if kinds - {"text"}:
            kind = max(kinds - {"text"})[:40]
            refuse("messages", f"message {index} has content of type {kind!r}", "only text is served")


def _include_usage(body: JsonObject) -> bool:
    options = body.get("stream_options")
    if options is None:
        return False
    if not isinstance(options, Mapping):
        refuse("stream_options", "stream_options must be an object")
    if not _flag(body, "stream"):
        refuse("stream_options", "stream_options needs stream: true")
    return _flag(options, "include_usage")


def _flag(given: JsonObject, field: str) -> bool:
    value = given.get(field)
    if value is not None and not isinstance(value, bool):
        refuse(field, f"{field} must be true or false")
    return value is True


def _template_kwargs(kwargs: JsonValue) -> Mapping[str, JsonValue]:
    if kwargs is None:
        return {}
    if not isinstance(kwargs, Mapping):
        refuse("chat_template_kwargs", "chat_template_kwargs must be an object")
    return kwargs


def _reasoning_effort(body: JsonObject) -> Effort:
    reasoning = body.get("reasoning")
    if not isinstance(reasoning, Mapping | None):
        refuse("reasoning", "reasoning must be an object", "for example {'effort': 'low'}")
    nested = reasoning.get("effort") if reasoning is not None else None
    effort = nested if body.get("reasoning_effort") is None else body["reasoning_effort"]
    if isinstance(effort, bool) or not isinstance(effort, str | int | float | None):
        refuse("reasoning_effort", "reasoning_effort must be a string or a number", "for example 'low'")
    return effort


__all__ = ["ChatRequest", "chat_request"]
