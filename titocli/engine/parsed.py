"""From sampled ids to a ``Completion``, for the engines that sample inside the process."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from titocli.errors import TokenOutOfVocabulary
from titocli.families.family import Family
from titocli.families.parsers.completion import parse_completion
from titocli.families.parsers.streaming import ContentDelta, Delta, ReasoningDelta, StreamingParser
from titocli.jsonvalue import JsonObject, JsonValue
from titocli.session.generation import (
    Completion,
    FinishReason,
    GenerateRequest,
    MessageDelta,
    ToolCallDelta,
)
from titocli.tokens.ids import TokenIds
from titocli.tokens.tokenizer import Tokenizer

_CHAT = "chatcmpl-"


@dataclass(frozen=True, slots=True)
class Sampled:
    """Sampled ids with one log-prob each, and why sampling ended (``stop`` or ``length``)."""

    ids: TokenIds
    log_probs: array[float]
    finish_reason: FinishReason
    matched_stop: int | None = None
    top_log_probs: tuple[JsonValue, ...] = ()


class PieceReader:
    """Reads a completion while it is sampled; its pieces are the message of ``parsed_completion``."""

    def __init__(self, family: Family, tokenizer: Tokenizer, request: GenerateRequest) -> None:
        self._parser = StreamingParser(
            family, tokenizer, request.generation_prompt, request.tools, turn=_turn(request)
        )

    def feed(self, ids: Iterable[int]) -> tuple[MessageDelta, ...]:
        """The pieces that are certain with these ids and were not before."""
        return tuple(map(_piece, self._parser.feed(ids)))

    def flush(self) -> Iterator[MessageDelta]:
        """What was held back, when the completion has ended."""
        yield from map(_piece, self._parser.flush())


def _piece(delta: Delta) -> MessageDelta:
    if isinstance(delta, ReasoningDelta):
        return MessageDelta(reasoning=delta.text)
    if isinstance(delta, ContentDelta):
        return MessageDelta(content=delta.text)
    call = delta.call
    return MessageDelta(
        tool_call=ToolCallDelta(index=delta.index, id=call.id, name=call.name, arguments=call.arguments)
    )


def parsed_completion(
    family: Family,
    tokenizer: Tokenizer,
    request: GenerateRequest,
    sampled: Sampled,
    *,
    model: str,
    cached_tokens: int | None = None,
) -> Completion:
    """The completion of ``sampled``, read by the family's parsers.

    Its finish reason is ``tool_calls`` where there are calls, unless it ended at the length limit.
    """
    parsed = parse_completion(
        family,
        tokenizer,
        sampled.ids,
        generation_prompt=request.generation_prompt,
        tools=request.tools,
        turn=_turn(request),
    )
    called = bool(parsed.tool_calls) and sampled.finish_reason is FinishReason.STOP
    return Completion(
        ids=sampled.ids,
        log_probs=sampled.log_probs,
        finish_reason=FinishReason.TOOL_CALLS if called else sampled.finish_reason,
        message=parsed.message(),
        response_id=_response_id(request),
        model=model,
        cached_tokens=cached_tokens,
        matched_stop=sampled.matched_stop,
        parse_attempts=tuple(attempt.as_json() for attempt in parsed.attempts),
        top_log_probs=sampled.top_log_probs,
    )


def top_log_prob(spelled: bytes, log_prob: float) -> JsonObject:
    """One alternative of a step, in OpenAI's shape."""
    return {"token": spelled.decode(errors="replace"), "bytes": list(spelled), "logprob": log_prob}


def require_known_ids(ids: Sequence[int], vocab_size: int) -> None:
    """Raise ``TokenOutOfVocabulary`` for ids outside ``[0, vocab_size)``."""
    for index, token_id in enumerate(ids):
        if not 0 <= token_id < vocab_size:
            raise TokenOutOfVocabulary(
                f"id {token_id} is not in the model's vocabulary of {vocab_size}",
                hint="the tokenizer and the model do not belong together",
                details={"token_id": token_id, "index": index, "vocab_size": vocab_size},
            )


def _response_id(request: GenerateRequest) -> str:
    return request.request_id if request.request_id.startswith(_CHAT) else f"{_CHAT}{request.request_id}"


def _turn(request: GenerateRequest) -> int:
    return sum(message.get("role") == "assistant" for message in request.messages)


__all__ = ["PieceReader", "Sampled", "parsed_completion", "require_known_ids", "top_log_prob"]
