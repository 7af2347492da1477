"""Anthropic Messages requests to a session's turn request.

What the session cannot honour is refused; what only concerns Anthropic's own service is left out, so that a
client's next field neither fails nor reaches a prompt.  The table is in docs/anthropic.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from titocli.errors import UnsupportedRequest
from titocli.families.family import Family
from titocli.jsonvalue import JsonObject, JsonValue
from titocli.session.arguments import TurnRequest
from titocli.wire.anthropic_blocks import refuse_started_answer, refuse_unserved
from titocli.wire.anthropic_conversation import openai_messages
from titocli.wire.anthropic_options import custom_tools, engine_options, refused, stop_sequences

#: Fields that would take the tokens out of the session's hands, or the tools to somebody else's.
_REFUSED = {
    "input_ids": "the session renders the prompt's token ids",
    "logprob_start_len": "log-probs of the prompt would defeat prefix caching",
    "routed_experts_start_len": "the session knows what the turns before cover",
    "lora_path": "the served adapter is the engine's",
    "mcp_servers": "run the tools on the client's side and send them as custom tools",
}
#: Anthropic's efforts and those of families between them, in order.
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
#: Those that Anthropic's clients send.
_ANTHROPICS_EFFORTS = ("low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesRequest:
    """A Messages request: the turn that it asks for, and what its reply should look like."""

    turn: TurnRequest
    stream: bool
    stop_sequences: tuple[str, ...]


def messages_request(body: JsonObject, family: Family) -> MessagesRequest:
    """Read the body of ``POST /v1/messages``; raises ``UsageError`` and ``InputError`` of its leaves."""
    stream = body.get("stream")
    if stream is not None and not isinstance(stream, bool):
        raise refused("stream", "is neither true nor false")
    turn = _turn(body, family, engine_options(body))
    refuse_started_answer(body)
    return MessagesRequest(
        turn=turn,
        stream=bool(stream),
        stop_sequences=stop_sequences(body),
    )


def counted_request(body: JsonObject, family: Family) -> TurnRequest:
    """Read the body of ``POST /v1/messages/count_tokens``, which generates nothing.

    Clients count parts of conversations, so this one may end with the assistant.
    """
    return _turn(body, family, {})


def _turn(body: JsonObject, family: Family, options: Mapping[str, JsonValue]) -> TurnRequest:
    _refuse_fields(body)
    refuse_unserved(body)
    messages = openai_messages({"system": body.get("system"), "messages": _plain(body["messages"])})
    return TurnRequest(
        messages=messages,
        tools=custom_tools(body),
        template_kwargs={**_thinking(body, family), **_template_kwargs(body)},
        reasoning_effort=_effort(body, family),
        options=options,
    )


def _refuse_fields(body: JsonObject) -> None:
    for field, instead in _REFUSED.items():
        if body.get(field) not in (None, []):
            raise UnsupportedRequest(f"{field} is not accepted", hint=instead, details={"param": field})
    if not isinstance(body.get("model", ""), str):
        raise refused("model", "is not a string")
    config = body.get("output_config")
    if isinstance(config, Mapping) and config.get("task_budget") is not None:
        raise refused("output_config.task_budget", "is not served")


def _plain(messages: JsonValue) -> JsonValue:
    """Role and content alone: a message of Anthropic's has nothing else to say."""
    assert isinstance(messages, Sequence)  # noqa: S101 - refused before
    return [
        {"role": message["role"], "content": message.get("content") or ""}
        for message in messages
        if isinstance(message, Mapping)
    ]


def _thinking(body: JsonObject, family: Family) -> dict[str, JsonValue]:
    """Thinking on or off under any of its names; the family knows its own.

    Adaptive thinking leaves the choice to the family's template; a budget is not a thing of prompts.
    """
    thinking = body.get("thinking")
    if thinking is None:
        return {}
    kind = thinking.get("type") if isinstance(thinking, Mapping) else None
    if kind not in ("enabled", "disabled", "adaptive"):
        raise refused("thinking.type", "is none of enabled, disabled, adaptive")
    if kind == "adaptive" or (kind == "disabled" and family.parsers.reasoning is None):
        return {}
    if family.parsers.reasoning is None:
        raise refused("thinking", f"is not supported: family {family.name!r} does not think")
    return {"enable_thinking": kind == "enabled"}


def _template_kwargs(body: JsonObject) -> Mapping[str, JsonValue]:
    kwargs = body.get("chat_template_kwargs")
    if kwargs is None:
        return {}
    if not isinstance(kwargs, Mapping):
        raise refused("chat_template_kwargs", "must be an object")
    return kwargs


def _effort(body: JsonObject, family: Family) -> str | None:
    """The nearest effort that the family has, the higher of two; None for a family that has none.

    Clients of Anthropic's send an effort that nobody chose, so it is a wish and no reason to refuse.
    """
    config = body.get("output_config")
    if config is not None and not isinstance(config, Mapping):
        raise refused("output_config", "must be an object")
    effort = config.get("effort") if config is not None else None
    if effort is None:
        return None
    if effort not in _ANTHROPICS_EFFORTS:
        raise refused("output_config.effort", f"is none of {', '.join(_ANTHROPICS_EFFORTS)}")
    known = {**family.pinned_kwargs, **family.turn_kwargs}.get("reasoning_effort")
    if known == ():  # any value may stand
        return str(effort)
    return _nearest(str(effort), known or ())


def _nearest(effort: str, known: Sequence[JsonValue]) -> str | None:
    rank = _EFFORTS.index(effort)
    return min(
        (name for name in _EFFORTS if name in known and name != "none"),
        key=lambda name: (abs(_EFFORTS.index(name) - rank), -_EFFORTS.index(name)),
        default=None,
    )


__all__ = ["MessagesRequest", "counted_request", "messages_request"]
