"""OpenAI chat-completion requests to a session's turn request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from titocli.errors import UnsupportedRequest
from titocli.jsonvalue import JsonObject, JsonValue
from titocli.session.arguments import TurnRequest

#: Fields that are read here; everything else goes to the engine as it is.
_CONSUMED = {
    "messages",
    "tools",
    "model",
    "stream",
    "stream_options",
    "n",
    "chat_template_kwargs",
    "reasoning_effort",
    "reasoning",
    "logprobs",
    "store",
    "metadata",
    "user",
}

#: Fields that would take the tokens out of the session's hands, with what to do instead.
_REFUSED = {
    "input_ids": "the session renders the prompt's token ids",
    "logprob_start_len": "log-probs of the prompt would defeat prefix caching",
    "continue_final_message": "append a message instead",
    "functions": "use tools",
    "function_call": "use tool_choice",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """A chat-completion request: the turn that it asks for, and what its reply should show."""

    turn: TurnRequest
    log_probs: bool


def chat_request(body: JsonObject) -> ChatRequest:
    """Read a request body; raises ``UnsupportedRequest`` for what titocli cannot honour."""
    _refuse_unsupported(body)
    options = {key: value for key, value in body.items() if key not in _CONSUMED and value is not None}
    return ChatRequest(
        turn=TurnRequest(
            messages=body.get("messages"),
            tools=body.get("tools"),
            template_kwargs=_template_kwargs(body.get("chat_template_kwargs")),
            reasoning_effort=_reasoning_effort(body),
            options=options,
        ),
        log_probs=bool(body.get("logprobs")),
    )


def _refuse_unsupported(body: JsonObject) -> None:
    if body.get("stream"):
        raise _unsupported("stream", "streaming is not served yet", "send the request without stream")
    if body.get("n") not in (None, 1):
        raise _unsupported("n", "n must be 1: one turn has one completion", "send several requests")
    for field, instead in _REFUSED.items():
        if body.get(field) is not None:
            raise _unsupported(field, f"{field} is not accepted", instead)
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
            raise _unsupported(
                "messages", f"message {index} has content of type {max(kinds)!r}", "only text is served"
            )


def _template_kwargs(kwargs: JsonValue) -> Mapping[str, JsonValue]:
    if kwargs is None:
        return {}
    if not isinstance(kwargs, Mapping):
        raise _unsupported("chat_template_kwargs", "chat_template_kwargs must be an object", "see the README")
    return kwargs


def _reasoning_effort(body: JsonObject) -> str | None:
    reasoning = body.get("reasoning")
    nested = reasoning.get("effort") if isinstance(reasoning, Mapping) else None
    effort = body.get("reasoning_effort", nested)
    if effort is not None and not isinstance(effort, str):
        raise _unsupported("reasoning_effort", "reasoning_effort must be a string", "for example 'low'")
    return effort


def _unsupported(param: str, message: str, hint: str) -> UnsupportedRequest:
    return UnsupportedRequest(message, hint=hint, details={"param": param})


__all__ = ["ChatRequest", "chat_request"]
