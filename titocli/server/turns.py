"""One turn of a live session: plan, generate, commit; whatever the wire format."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from uuid import uuid4

from titocli.server.registry import LiveSession
from titocli.server.state import SessionServer
from titocli.session.arguments import TurnRequest
from titocli.session.generation import MessageDelta, ToolCallDelta
from titocli.session.session import Plan
from titocli.session.tree import Turn


async def plan_turn(server: SessionServer, live: LiveSession, asked: TurnRequest) -> Plan:
    """The turn that would be generated; nothing changes and no engine runs."""
    async with live.lock:
        return await server.off_loop(live.session.plan, asked)


async def run_turn(
    server: SessionServer, live: LiveSession, asked: TurnRequest, *, requested_at: float
) -> Turn:
    """Generate and commit a turn.

    Raises what planning, the engine or committing refuses; then nothing has changed.
    """
    plan = await plan_turn(server, live, asked)
    completion = await server.engine.generate(plan.request(request_id=uuid4().hex, session_id=live.id))
    async with live.lock:
        server.registry.get(live.id)  # deleted meanwhile: the client is told, nothing is kept
        return live.session.commit(plan, completion, requested_at=requested_at, committed_at=time.time())


async def stream_turn(
    server: SessionServer, live: LiveSession, asked: TurnRequest, *, requested_at: float
) -> AsyncIterator[MessageDelta | Turn]:
    """Generate a turn piece by piece; the committed turn comes last.

    What planning refuses is raised before the first piece.
    """
    turn = await run_turn(server, live, asked, requested_at=requested_at)
    for delta in whole_message(turn):
        yield delta
    yield turn


def whole_message(turn: Turn) -> list[MessageDelta]:
    """The message of a finished turn as pieces: reasoning, content, each tool call."""
    message = turn.completion.message
    calls = message.get("tool_calls") or ()
    assert isinstance(calls, list | tuple)  # noqa: S101 - engines write lists
    pieces = [
        MessageDelta(reasoning=str(message.get("reasoning_content") or "")),
        MessageDelta(content=str(message.get("content") or "")),
        *(MessageDelta(tool_call=_whole_call(index, call)) for index, call in enumerate(calls)),
    ]
    return [piece for piece in pieces if piece != MessageDelta()]


def _whole_call(index: int, call: dict[str, object]) -> ToolCallDelta:
    function = call["function"]
    assert isinstance(function, dict)  # noqa: S101 - engines write OpenAI's shape
    return ToolCallDelta(
        index=index, id=str(call["id"]), name=str(function["name"]), arguments=str(function["arguments"])
    )


__all__ = ["plan_turn", "run_turn", "stream_turn", "whole_message"]
