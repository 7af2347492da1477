"""An engine that answers what a walk wrote down for each request, in random ids, after random delays."""

from __future__ import annotations

import asyncio
import random
import threading
from array import array
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from tests.walk_vocabulary import pieces_of, renderer_of
from titocli.engine.pieces import replayed
from titocli.errors import EngineAborted, EngineError, EngineTimeout, EngineUnreachable
from titocli.families.registry import get_family
from titocli.families.renderer import Renderer
from titocli.session.generation import Completion, FinishReason, GenerateRequest, MessageDelta, ToolCallDelta
from titocli.tokens.ids import token_ids

#: How a generation may fail.
ERRORS: tuple[EngineError, ...] = (
    EngineAborted("the engine aborted"),
    EngineTimeout("the engine was slow"),
    EngineUnreachable("the engine died"),
)
_POLL_SECONDS = 0.001
_PATIENCE_SECONDS = 60.0


def sampled_ids(name: str, text: str, chance: random.Random) -> list[int]:
    """Ids that spell ``text`` cut anywhere, as no tokenizer would, perhaps with half a character at the end."""
    pieces, data, ids = pieces_of(name), text.encode(), []
    while data:
        length = chance.choice([n for n in range(1, 9) if n <= len(data) and data[:n] in pieces])
        ids.append(pieces[data[:length]])
        data = data[length:]
    return ids[: len(ids) - chance.randrange(2)] or [65]


def sampled(name: str, message: dict[str, Any], chance: random.Random) -> Completion:
    """A completion of ``message`` in random ids, with a random end: a stop token, none, or a cut."""
    family, tokenizer = get_family(name), renderer_of(name).tokenizer
    cut = chance.random() < 0.08
    ids = sampled_ids(name, f"{message.get('reasoning_content', '')}{message['content']}f()", chance)
    if not cut and chance.random() < 0.9:
        stops = [i for text in family.stop_tokens if (i := tokenizer.token_id(text)) is not None]
        ids.append(chance.choice(stops))
    ended = FinishReason.TOOL_CALLS if message.get("tool_calls") else FinishReason.STOP
    return Completion(
        ids=token_ids(ids),
        log_probs=array("d", [-chance.random() for _ in ids]),
        finish_reason=FinishReason.LENGTH if cut else ended,
        message=message,
        response_id="",
        model="walk",
        cached_tokens=chance.choice([None, 0, 3]),
    )


@dataclass(eq=False)
class Scripted:
    """What becomes of one generation, and what the engine saw of it."""

    completion: Completion
    delay_seconds: float = 0.0
    #: Raised instead of answering; in a stream after so many pieces.
    error: EngineError | None = None
    pieces_before_error: int = 0
    #: Never answered: it must be cancelled.
    held: bool = False
    #: Answered only when all of these have arrived.
    together: tuple[Scripted, ...] = ()
    seen: list[GenerateRequest] = field(default_factory=list)
    cancelled: threading.Event = field(default_factory=threading.Event)


@dataclass
class WalkEngine:
    """Finds the script of a request by the request's ``seed``."""

    renderer: Renderer
    scripts: dict[int, Scripted] = field(default_factory=dict)
    name: str = "walk"
    model: str = "walk"
    context_length: int | None = None

    @property
    def vocab_size(self) -> int:
        return self.renderer.tokenizer.vocab_size

    async def start(self) -> None: ...

    async def aclose(self) -> None: ...

    async def generate(self, request: GenerateRequest) -> Completion:
        scripted = await self._arrived(request)
        if scripted.error is not None:
            raise scripted.error
        return _answered(scripted, request)

    async def stream(self, request: GenerateRequest) -> AsyncGenerator[MessageDelta | Completion, None]:
        scripted = await self._arrived(request)
        pieces = [*_cut(_answered(scripted, request))]
        for number, piece in enumerate(pieces):
            last = number == len(pieces) - 1
            if scripted.error is not None and (last or number == scripted.pieces_before_error):
                raise scripted.error
            yield piece
            await asyncio.sleep(0)

    async def _arrived(self, request: GenerateRequest) -> Scripted:
        seed = request.options["seed"]
        assert isinstance(seed, int)
        scripted = self.scripts[seed]
        scripted.seen.append(request)
        try:
            await self._waited(scripted)
        except (asyncio.CancelledError, GeneratorExit):
            scripted.cancelled.set()
            raise
        return scripted

    @staticmethod
    async def _waited(scripted: Scripted) -> None:
        deadline = asyncio.get_running_loop().time() + _PATIENCE_SECONDS
        while scripted.held or not all(other.seen for other in scripted.together):
            assert asyncio.get_running_loop().time() < deadline
            await asyncio.sleep(_POLL_SECONDS)
        await asyncio.sleep(scripted.delay_seconds)


def _answered(scripted: Scripted, request: GenerateRequest) -> Completion:
    return replace(scripted.completion, response_id=request.request_id)


def _cut(completion: Completion) -> Iterator[MessageDelta | Completion]:
    """The pieces of a completion, each text in two halves."""
    for piece in replayed(completion):
        if isinstance(piece, Completion):
            yield piece
        elif (call := piece.tool_call) is not None:
            half = len(call.arguments) // 2
            yield MessageDelta(tool_call=replace(call, arguments=call.arguments[:half]))
            yield MessageDelta(tool_call=ToolCallDelta(index=call.index, arguments=call.arguments[half:]))
        else:
            yield from _halves(piece)


def _halves(piece: MessageDelta) -> Iterator[MessageDelta]:
    for at in (slice(len(piece.reasoning) // 2), slice(len(piece.reasoning) // 2, None)):
        if part := piece.reasoning[at]:
            yield MessageDelta(reasoning=part)
    for at in (slice(len(piece.content) // 2), slice(len(piece.content) // 2, None)):
        if part := piece.content[at]:
            yield MessageDelta(content=part)


__all__ = ["ERRORS", "Scripted", "WalkEngine", "sampled", "sampled_ids"]
