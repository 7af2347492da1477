"""SGLang over HTTP: one chat completion a turn, token ids in and token ids out.

``input_ids`` bypass SGLang's chat template, and ids and log-probs come back in ``meta_info``: upstream SGLang
0.5.13 and newer, no fork.  Facts were seen with 0.5.23.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from enum import Enum, auto
from pathlib import Path

import httpx

from titocli.engine.pieces import replayed
from titocli.engine.sglang_errors import raise_for_status, transport_error
from titocli.engine.sglang_http import SglangHttp
from titocli.engine.sglang_reply import read_reply
from titocli.engine.sglang_request import chat_body, encoded, stream_body
from titocli.engine.sglang_stream import DONE, StreamedReply, StreamWithoutIdsError
from titocli.engine.sse import event_data
from titocli.errors import EngineBrokeProtocol, EngineRefused, EngineTimeout, TokenOutOfVocabulary
from titocli.session.generation import Completion, GenerateRequest, MessageDelta
from titocli.tokens.ids import TokenIds

#: How long a generation is offered to an engine that takes no connections: long enough for a restart's gap.
CONNECT_BUDGET_SECONDS = 5.0


_FAULTS_OF_THE_REQUEST = (400, 422)


class _Streaming(Enum):
    """Whether an engine streams with one id and one log-prob a token."""

    UNKNOWN = auto()
    YES = auto()
    NO = auto()


class SglangEngine:
    """An SGLang server, or a router before several, that exists already.

    ``timeout_seconds`` bounds one generation.  ``vocab_size`` bounds the ids that are sent where the model's
    own vocabulary size cannot be learnt (see ``start``); give the tokenizer's size.
    ``connect_budget_seconds`` is how long a generation is offered to an engine that takes no connections.
    """

    def __init__(
        self,
        base_url: str,
        *,
        timeout_seconds: float = 600.0,
        api_key: str | None = None,
        vocab_size: int | None = None,
        connect_budget_seconds: float = CONNECT_BUDGET_SECONDS,
    ) -> None:
        self._url = base_url.rstrip("/").removesuffix("/v1")
        self._given_vocab_size = vocab_size
        self._vocab_size = vocab_size or 0
        self._model = ""
        self._context_length: int | None = None
        self._timeout_seconds = timeout_seconds
        self._connect_budget_seconds = connect_budget_seconds
        self._streaming = _Streaming.UNKNOWN
        self._http = SglangHttp(
            self._url,
            timeout_seconds=timeout_seconds,
            api_key=api_key,
            connect_budget_seconds=connect_budget_seconds,
        )

    @property
    def name(self) -> str:
        """``sglang``."""
        return "sglang"

    @property
    def model(self) -> str:
        """The served model's name; empty until ``start``."""
        return self._model

    @property
    def vocab_size(self) -> int:
        """Ids in ``[0, vocab_size)`` are sent; known after ``start``."""
        return self._vocab_size

    @property
    def context_length(self) -> int | None:
        """Tokens of a prompt and its completion together, where the engine tells; known after ``start``."""
        return self._context_length

    async def start(self) -> None:
        """Ask the engine for its model, and learn the vocabulary size.

        SGLang does not tell its vocabulary size.  It is read from ``config.json`` where the engine's model
        path is a folder of this machine, else it is the ``vocab_size`` that was given.  The first is better:
        a model has more ids than its tokenizer and can sample them.  Raises ``EngineBrokeProtocol`` without
        either.
        """
        info = await self._http.model_info()
        path, served = info.get("model_path"), info.get("served_model_name")
        self._model = str(served or path or "")
        size = _config_vocab_size(Path(path) / "config.json") if isinstance(path, str) else None
        size = size or self._given_vocab_size
        if size is None:
            raise EngineBrokeProtocol(
                "the engine does not tell its vocabulary size and its model is not a folder of this machine",
                hint="give a tokenizer: its size bounds the ids that are sent",
                details={"url": self._url, "model": self._model},
            )
        self._vocab_size = size
        self._context_length = await self._http.max_model_len()

    async def generate(self, request: GenerateRequest) -> Completion:
        """One generation.

        Ids are checked against the vocabulary before anything is sent (``TokenOutOfVocabulary``), for an id
        outside it ends SGLang 0.5.23.  A cancelled or timed-out generation is aborted in the engine.
        Raises the classes of ``EngineError``.
        """
        self._require_in_vocabulary(request.prompt_ids)
        try:
            async with asyncio.timeout(self._timeout_seconds):
                response = await self._http.post_chat(request, encoded(chat_body(request, self._model)))
                async with aclosing(response):
                    content = await response.aread()
        except (asyncio.CancelledError, EngineTimeout, TimeoutError) as error:
            await self._http.abort(request.request_id)
            if isinstance(error, TimeoutError):
                raise self._too_slow() from error
            raise
        except httpx.TransportError as error:
            raise transport_error(error, self._url) from error
        raise_for_status(response, self._url)
        completion = await asyncio.to_thread(read_reply, content, request.prompt_ids, request.replay)
        self._learn(completion)
        return completion

    async def stream(self, request: GenerateRequest) -> AsyncGenerator[MessageDelta | Completion, None]:
        """One generation piece by piece, as ``Engine.stream`` says.

        An engine that cannot stream ids (SGLang before 0.5.20, or one without parsers, whose stream leaves
        log-probs out) generates as a whole, and that is streamed.  Which of the two an engine is shows its
        first stream; its pieces are held back until its ids are there.
        """
        self._require_in_vocabulary(request.prompt_ids)
        if self._streaming is _Streaming.UNKNOWN:
            for piece in await self._first_stream(request):
                yield piece
        elif self._streaming is _Streaming.NO:
            for piece in replayed(await self.generate(request)):
                yield piece
        else:
            async with aclosing(self._streamed(request)) as pieces:
                async for piece in pieces:
                    yield piece

    async def _first_stream(self, request: GenerateRequest) -> list[MessageDelta | Completion]:
        try:
            pieces = [piece async for piece in self._streamed(request)]
        except StreamWithoutIdsError:
            self._streaming = _Streaming.NO
            return list(replayed(await self.generate(request)))
        except EngineRefused as refused:
            if refused.details.get("status") not in _FAULTS_OF_THE_REQUEST:
                raise
            # Refused for what streaming asks for, or for what was asked: the whole generation shows which.
            whole = await self.generate(request)
            self._streaming = _Streaming.NO
            return list(replayed(whole))
        self._streaming = _Streaming.YES
        return pieces

    async def _streamed(self, request: GenerateRequest) -> AsyncGenerator[MessageDelta | Completion, None]:
        reply = StreamedReply(request, self._url)
        ended = False
        try:
            async with aclosing(self._events(request)) as events:
                async for data in events:
                    for piece in reply.read(data):
                        yield piece
            ended = True
        except EngineRefused:
            ended = True
            raise
        finally:
            # Closed or cancelled half-way, or too slow, or broken: nobody waits for the rest.
            if not ended:
                await self._http.abort(request.request_id)
        try:
            completion = reply.completion()
        except StreamWithoutIdsError as error:
            if self._streaming is _Streaming.UNKNOWN:
                raise
            self._streaming = _Streaming.NO
            raise EngineBrokeProtocol(
                "the engine streamed a completion without one id and one log-prob for each token",
                hint="send the request again: from now on this engine is asked for whole completions",
            ) from error
        self._learn(completion)
        yield completion

    async def _events(self, request: GenerateRequest) -> AsyncGenerator[bytes, None]:
        """The data of the stream's events up to its end mark, within the time for one generation."""
        deadline = time.monotonic() + self._timeout_seconds
        try:
            async with asyncio.timeout(self._timeout_seconds):
                response = await self._http.post_chat(request, encoded(stream_body(request, self._model)))
            async with aclosing(response):
                if response.status_code != httpx.codes.OK:
                    await response.aread()
                    raise_for_status(response, self._url)
                events = event_data(response.aiter_bytes())
                while data := await asyncio.wait_for(anext(events, None), deadline - time.monotonic()):
                    if data != DONE:
                        yield data
        except TimeoutError as error:
            raise self._too_slow() from error
        except httpx.TransportError as error:
            raise transport_error(error, self._url) from error

    def _learn(self, completion: Completion) -> None:
        # What the engine sampled is in its vocabulary, whatever the tokenizer's size.
        self._vocab_size = max(self._vocab_size, 1 + max(completion.ids, default=0))

    def _too_slow(self) -> EngineTimeout:
        return EngineTimeout(
            f"the engine at {self._url} did not answer in time",
            hint="raise --timeout, or ask for fewer tokens",
            details={"url": self._url, "timeout_seconds": self._timeout_seconds},
        )

    async def aclose(self) -> None:
        """Close the connections; safe to call twice."""
        await self._http.aclose()

    def _require_in_vocabulary(self, ids: TokenIds) -> None:
        if not ids or (min(ids) >= 0 and max(ids) < self._vocab_size):
            return
        index = next(i for i, token_id in enumerate(ids) if not 0 <= token_id < self._vocab_size)
        raise TokenOutOfVocabulary(
            f"id {ids[index]} is not in the engine's vocabulary of {self._vocab_size}",
            hint="the tokenizer and the engine's model do not belong together",
            details={"token_id": ids[index], "index": index, "vocab_size": self._vocab_size},
        )


def _config_vocab_size(config: Path) -> int | None:
    try:
        parsed = json.loads(config.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(parsed, dict):
        return None
    # Models with vision keep the language model's numbers one level down.
    text = parsed.get("text_config")
    size = parsed.get("vocab_size", text.get("vocab_size") if isinstance(text, dict) else None)
    return size if type(size) is int else None


__all__ = ["SglangEngine"]
