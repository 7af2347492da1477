"""The training samples of a session, over HTTP."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response

from titocli.errors import InvalidSampleRequest
from titocli.server.http import read_object
from titocli.server.registry import LiveSession
from titocli.server.state import SessionServer
from titocli.session.samples.assembly import SampleRequest, collect_samples
from titocli.wire.sample_document import sample_document
from titocli.wire.sample_format_names import SampleFormat
from titocli.wire.sample_formats import chosen_format, encode_samples
from titocli.wire.sample_request import max_seq_len_of, sample_request
from titocli.wire.session_view import session_metadata

_DEFAULT_FORMATS = {"GET": SampleFormat.JSON, "POST": SampleFormat.SAFETENSORS}


async def samples(server: SessionServer, request: Request) -> Response:
    """``GET`` (JSON) or ``POST /sessions/{id}/samples`` (safetensors), unless another format is asked for.

    Reads only, and may be asked again.  Assembling, hooks and encoding run in threads of their own: a slow
    hook holds up neither the event loop nor another session.
    """
    live = server.live(request)
    default = _DEFAULT_FORMATS.get(request.method, SampleFormat.JSON)
    wanted = chosen_format(request.query_params.get("format"), request.headers.get("accept"), default)
    asked = await _asked(server, request)
    async with live.lock:
        leaves = live.session.leaves()
    loop = asyncio.get_running_loop()
    body = await loop.run_in_executor(server.samples.workers, _body, server, live, leaves, asked, wanted)
    return Response(body, media_type=wanted.media_type)


async def _asked(server: SessionServer, request: Request) -> SampleRequest:
    """The request of the body, with ``?max_seq_len=`` over its own."""
    body = await read_object(request, server.max_body_bytes)
    asked = sample_request(body, default_max_seq_len=server.samples.max_seq_len)
    limit = request.query_params.get("max_seq_len")
    return asked if limit is None else replace(asked, max_seq_len=max_seq_len_of(limit))


def _body(
    server: SessionServer,
    live: LiveSession,
    leaves: tuple[int, ...],
    asked: SampleRequest,
    wanted: SampleFormat,
) -> bytes:
    # Turns that are committed meanwhile change nothing of these leaves: a tree only grows.
    metadata = session_metadata(live.session)
    made = collect_samples(live.session, metadata, leaves=leaves, request=asked, hooks=server.samples.hooks)
    try:
        return encode_samples(sample_document(live.id, made), wanted)
    except RecursionError as error:
        raise InvalidSampleRequest("metadata is nested too deeply", details={"param": "metadata"}) from error


__all__ = ["samples"]
