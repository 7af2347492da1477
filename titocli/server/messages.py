"""Anthropic's ``/v1/messages`` and ``/v1/messages/count_tokens`` of a session."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from functools import wraps
from uuid import uuid4

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from titocli.errors import TitoError
from titocli.families.messages import message_list
from titocli.server.answering import keyed_reply, streamed_response, whole_response
from titocli.server.http import anthropic_error_response, json_response, read_body
from titocli.server.registry import LiveSession
from titocli.server.state import SessionServer
from titocli.server.turns import new_request_id, plan_turn, run_turn, stream_turn
from titocli.session.arguments import CallArguments, TurnRequest
from titocli.session.generation import MessageDelta
from titocli.session.plan import Plan
from titocli.session.tree import Turn
from titocli.wire.anthropic_errors import error_body
from titocli.wire.anthropic_replay import as_stored
from titocli.wire.anthropic_reply import content_blocks, message_body
from titocli.wire.anthropic_request import MessagesRequest, counted_request, messages_request
from titocli.wire.anthropic_stream import PING, Event, MessageEvents

Answer = Callable[[SessionServer, Request, str], Awaitable[Response]]


def _in_anthropics_shape(answer: Answer) -> Callable[[SessionServer, Request], Awaitable[Response]]:
    """The route with a ``request-id`` on every response and errors in Anthropic's shape."""

    @wraps(answer)
    async def answered(server: SessionServer, request: Request) -> Response:
        request_id = f"req_{uuid4().hex}"
        try:
            response = await answer(server, request, request_id)
        except TitoError as error:
            response = anthropic_error_response(error, request_id)
        response.headers["request-id"] = request_id
        return response

    return answered


@_in_anthropics_shape
async def messages(server: SessionServer, request: Request, request_id: str) -> Response:
    """``POST /sessions/{id}/v1/messages``."""
    live = server.live(request)
    body = await read_body(request, server.max_body_bytes)
    asked = await server.understood(body, lambda given: messages_request(given, server.renderer.family))
    make = _streamed if asked.stream else _whole
    reply = await keyed_reply(live, request, body, lambda: make(server, live, asked, time.time()))
    if not asked.stream:
        return await whole_response(request, reply)
    return await streamed_response(
        request,
        reply,
        keep_alive=PING.encoded(),
        seconds=server.keep_alive_seconds,
        patience=None,  # the reply itself starts in time
        error_event=lambda error: _error_event(error, request_id),
    )


@_in_anthropics_shape
async def count_tokens(server: SessionServer, request: Request, _: str) -> Response:
    """``POST /sessions/{id}/v1/messages/count_tokens``: the ids of the prompt that a turn would have."""
    live = server.live(request)
    body = await read_body(request, server.max_body_bytes)
    asked = await server.understood(body, lambda given: counted_request(given, server.renderer.family))
    plan = await plan_turn(server, live, await _as_stored(server, live, asked))
    return json_response({"input_tokens": len(plan.prompt_ids)})


async def _as_stored(server: SessionServer, live: LiveSession, asked: TurnRequest) -> TurnRequest:
    turns = list(live.session.tree)
    stored = await server.off_loop(lambda: as_stored(message_list(asked.messages), turns))
    return replace(asked, messages=stored, call_arguments=CallArguments.VALUE)


async def _whole(
    server: SessionServer, live: LiveSession, asked: MessagesRequest, requested_at: float
) -> AsyncIterator[bytes]:
    turn = await run_turn(
        server,
        live,
        await _as_stored(server, live, asked.turn),
        requested_at=requested_at,
        express=content_blocks,
    )
    yield msgspec.json.encode(message_body(turn, stop_sequences=asked.stop_sequences))


async def _streamed(
    server: SessionServer, live: LiveSession, asked: MessagesRequest, requested_at: float
) -> AsyncIterator[bytes]:
    """The events of a turn.

    The message starts with its first piece, or when none came for so long that the client would wonder: an
    error before that has its own status.
    """
    plans: list[Plan] = []
    message_id = new_request_id()
    pieces = stream_turn(
        server,
        live,
        await _as_stored(server, live, asked.turn),
        requested_at=requested_at,
        request_id=message_id,
        planned=plans.append,
    )
    assert isinstance(pieces, AsyncGenerator)  # noqa: S101 - it is written with yield
    async with aclosing(pieces):
        first = asyncio.ensure_future(anext(pieces))
        try:
            await asyncio.wait({first}, timeout=server.keep_alive_seconds)
            if first.done():
                first.result()
            events = MessageEvents(
                message_id=message_id,
                model=server.engine.model,
                input_tokens=len(plans[0].prompt_ids) if plans else 0,
            )
            yield events.start().encoded()
            if told := _encoded(events, await first, asked):
                yield told
        finally:
            first.cancel()
            await asyncio.wait({first})
        async for piece in pieces:
            if told := _encoded(events, piece, asked):
                yield told


def _encoded(events: MessageEvents, piece: MessageDelta | Turn, asked: MessagesRequest) -> bytes:
    made = events.end(piece, asked.stop_sequences) if isinstance(piece, Turn) else events.piece(piece)
    return b"".join(event.encoded() for event in made)


def _error_event(error: TitoError, request_id: str) -> bytes:
    body = error_body(error, request_id=request_id)
    return Event("error", {"error": body["error"], "request_id": request_id}).encoded()


__all__ = ["count_tokens", "messages"]
