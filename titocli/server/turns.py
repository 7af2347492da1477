"""One turn of a live session: plan, generate, commit; whatever the wire format."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, aclosing, contextmanager
from uuid import uuid4

from titocli.engine.pieces import replayed
from titocli.errors import EngineBrokeProtocol
from titocli.server.flights import Flight
from titocli.server.registry import LiveSession
from titocli.server.state import SessionServer
from titocli.session.arguments import TurnRequest
from titocli.session.generation import Completion, MessageDelta
from titocli.session.plan import Plan
from titocli.session.tree import Turn


async def plan_turn(server: SessionServer, live: LiveSession, asked: TurnRequest) -> Plan:
    """The turn that would be generated; nothing changes and no engine runs."""
    async with live.lock:
        return await server.off_loop(live.session.plan, asked)


async def run_turn(
    server: SessionServer,
    live: LiveSession,
    asked: TurnRequest,
    *,
    requested_at: float,
    request_id: str | None = None,
    express: Callable[[Completion], object] | None = None,
) -> Turn:
    """Generate and commit a turn.

    ``express`` may refuse a completion, by raising, that the client's format has no words for.
    Raises what planning, the engine or committing refuses, and ``TurnAborted`` or ``SessionDeleted`` for a
    turn that is cancelled meanwhile; then nothing has changed.  Cancelling the task cancels the generation.
    """
    with _under_way(server, live) as flight:
        async with AsyncExitStack() as stack:
            plan = await _begin(server, live, asked, stack)
            request = plan.request(request_id=request_id or new_request_id(), session_id=live.id)
            completion = await flight.wait(server.engine.generate(request))
            if express is not None:
                express(completion)
            return await _commit(server, live, flight, plan, completion, requested_at)


async def stream_turn(
    server: SessionServer,
    live: LiveSession,
    asked: TurnRequest,
    *,
    requested_at: float,
    request_id: str | None = None,
    planned: Callable[[Plan], object] | None = None,
) -> AsyncIterator[MessageDelta | Turn]:
    """Generate a turn piece by piece; the committed turn comes last.

    ``planned`` is told the plan before the engine runs.
    What planning refuses is raised before the first piece.  What happens later (the engine fails, the turn
    is cancelled or cannot be committed) is raised between two pieces, and nothing is kept.  Closing the
    iterator cancels the generation.
    """
    with _under_way(server, live) as flight:
        async with AsyncExitStack() as stack:
            plan = await _begin(server, live, asked, stack)
            if planned is not None:
                planned(plan)
            request = plan.request(request_id=request_id or new_request_id(), session_id=live.id)
            async with aclosing(server.engine.stream(request)) as pieces:
                while isinstance(piece := await _next(flight, pieces), MessageDelta):
                    yield piece
            turn = await _commit(server, live, flight, plan, piece, requested_at)
        yield turn


def new_request_id() -> str:
    """A fresh id, for the engine and for the client's reply."""
    return f"chatcmpl-{uuid4().hex}"


def whole_message(turn: Turn) -> list[MessageDelta]:
    """The message of a finished turn as pieces: reasoning, content, each tool call."""
    return [piece for piece in replayed(turn.completion) if isinstance(piece, MessageDelta)]


@contextmanager
def _under_way(server: SessionServer, live: LiveSession) -> Iterator[Flight]:
    """The turn counts as under way: its session does not expire and a draining server waits for it."""
    server.drain.refuse()
    with live.flights.one() as flight:
        try:
            yield flight
        finally:
            server.registry.touch(live)


async def _begin(server: SessionServer, live: LiveSession, asked: TurnRequest, stack: AsyncExitStack) -> Plan:
    """Plan, and count the plan against the session's limits until ``stack`` ends."""
    async with live.lock:
        plan = await server.off_loop(live.session.plan, asked)
        stack.enter_context(live.session.generating(plan))
    return plan


async def _next(
    flight: Flight, pieces: AsyncGenerator[MessageDelta | Completion, None]
) -> MessageDelta | Completion:
    piece = await flight.wait(anext(pieces, None))
    if piece is None:
        raise EngineBrokeProtocol("the engine's stream ended without a completion")
    return piece


async def _commit(
    server: SessionServer,
    live: LiveSession,
    flight: Flight,
    plan: Plan,
    completion: Completion,
    requested_at: float,
) -> Turn:
    async with live.lock:
        flight.check()  # cancelled between the last piece and now
        server.registry.get(live.id)
        return live.session.commit(plan, completion, requested_at=requested_at, committed_at=time.time())


__all__ = ["new_request_id", "plan_turn", "run_turn", "stream_turn", "whole_message"]
