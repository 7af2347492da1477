"""``/v1/chat/completions`` and ``/v1/models`` of a session."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import Response

from titocli.errors import TitoError
from titocli.jsonvalue import JsonObject, JsonValue
from titocli.server.answering import keyed_reply, streamed_response, whole_response
from titocli.server.http import encoded, read_body
from titocli.server.registry import LiveSession
from titocli.server.state import SessionServer
from titocli.server.turns import new_request_id, run_turn, stream_turn
from titocli.session.tree import Turn
from titocli.wire.openai_reply import chat_completion, choice_log_probs, error_body
from titocli.wire.openai_request import ChatRequest, chat_request
from titocli.wire.openai_stream import ChatChunks

#: A comment, which every reader of server-sent events leaves out.
KEEP_ALIVE = b": keep-alive\n\n"
_DONE = b"data: [DONE]\n\n"


async def chat(server: SessionServer, request: Request) -> Response:
    """``POST /sessions/{id}/v1/chat/completions``."""
    live = server.live(request)
    body = await read_body(request, server.max_body_bytes)
    asked = await server.understood(
        body, lambda given: chat_request(given, vocab_size=server.engine.vocab_size)
    )
    make = _streamed if asked.stream else _whole
    reply = await keyed_reply(live, request, body, lambda: make(server, live, asked, time.time()))
    if not asked.stream:
        return await whole_response(request, reply)
    return await streamed_response(
        request,
        reply,
        keep_alive=KEEP_ALIVE,
        seconds=server.keep_alive_seconds,
        patience=server.keep_alive_seconds,
        error_event=_error_event,
    )


async def models(server: SessionServer, request: Request) -> Response:
    """``GET /sessions/{id}/v1/models``: the served model, told by this server and not by the engine."""
    live = server.live(request)
    model: JsonObject = {
        "id": server.engine.model,
        "object": "model",
        "created": int(live.created_at),
        "owned_by": "titocli",
        "max_model_len": server.engine.context_length,
    }
    return Response(encoded({"object": "list", "data": [model]}), media_type="application/json")


async def _whole(
    server: SessionServer, live: LiveSession, asked: ChatRequest, requested_at: float
) -> AsyncIterator[bytes]:
    turn = await run_turn(server, live, asked.turn, requested_at=requested_at)
    log_probs = _log_probs(server, asked, turn)
    yield encoded(chat_completion(turn, log_probs=log_probs))


async def _streamed(
    server: SessionServer, live: LiveSession, asked: ChatRequest, requested_at: float
) -> AsyncIterator[bytes]:
    request_id = new_request_id()
    chunks = ChatChunks(
        response_id=request_id,
        model=server.engine.model,
        created=int(requested_at),
        include_usage=asked.include_usage,
    )
    pieces = stream_turn(server, live, asked.turn, requested_at=requested_at, request_id=request_id)
    assert isinstance(pieces, AsyncGenerator)  # noqa: S101 - it is written with yield
    async with aclosing(pieces):
        async for piece in pieces:
            if isinstance(piece, Turn):
                made = chunks.end(piece, _log_probs(server, asked, piece))
            else:
                made = chunks.piece(piece)
            for chunk in made:
                yield _event(encoded(chunk))
    yield _DONE


def _log_probs(server: SessionServer, asked: ChatRequest, turn: Turn) -> JsonValue:
    return choice_log_probs(turn, server.renderer.tokenizer) if asked.log_probs else None


def _event(data: bytes) -> bytes:
    return b"data: " + data + b"\n\n"


def _error_event(error: TitoError) -> bytes:
    return _event(encoded(error_body(error)))


__all__ = ["KEEP_ALIVE", "chat", "models"]
