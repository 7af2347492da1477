"""From sampled ids to a ``Completion``, for the engines that sample inside the process."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from titocli.errors import TokenOutOfVocabulary
from titocli.families.family import Family
from titocli.families.parsers.completion import parse_completion
from titocli.session.generation import Completion, FinishReason, GenerateRequest
from titocli.tokens.ids import TokenIds
from titocli.tokens.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Sampled:
    """Sampled ids with one log-prob each, and why sampling ended (``stop`` or ``length``)."""

    ids: TokenIds
    log_probs: array[float]
    finish_reason: FinishReason
    matched_stop: int | None = None


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
        response_id=f"chatcmpl-{request.request_id}",
        model=model,
        cached_tokens=cached_tokens,
        matched_stop=sampled.matched_stop,
        parse_attempts=tuple(attempt.as_json() for attempt in parsed.attempts),
    )


def require_known_ids(ids: Sequence[int], vocab_size: int) -> None:
    """Raise ``TokenOutOfVocabulary`` for ids outside ``[0, vocab_size)``."""
    for index, token_id in enumerate(ids):
        if not 0 <= token_id < vocab_size:
            raise TokenOutOfVocabulary(
                f"id {token_id} is not in the model's vocabulary of {vocab_size}",
                hint="the tokenizer and the model do not belong together",
                details={"token_id": token_id, "index": index, "vocab_size": vocab_size},
            )


def _turn(request: GenerateRequest) -> int:
    return sum(message.get("role") == "assistant" for message in request.messages)


__all__ = ["Sampled", "parsed_completion", "require_known_ids"]
