"""``/v1/chat/completions`` of a session."""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.responses import Response

from titocli.server.http import json_response, read_object
from titocli.server.state import SessionServer
from titocli.server.turns import run_turn
from titocli.wire.openai_reply import chat_completion, choice_log_probs
from titocli.wire.openai_request import chat_request


async def chat(server: SessionServer, request: Request) -> Response:
    """``POST /sessions/{id}/v1/chat/completions``."""
    requested_at = time.time()
    live = server.live(request)
    asked = chat_request(await read_object(request))
    turn = await run_turn(server, live, asked.turn, requested_at=requested_at)
    log_probs = choice_log_probs(turn, server.renderer.tokenizer) if asked.log_probs else None
    return json_response(chat_completion(turn, log_probs=log_probs))


__all__ = ["chat"]
