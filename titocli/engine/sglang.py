"""SGLang over HTTP: one chat completion a turn, token ids in and token ids out.

``input_ids`` bypass SGLang's chat template, and ids and log-probs come back in ``meta_info``: upstream SGLang
0.5.13 and newer, no fork.  Facts were seen with 0.5.23.
"""

from __future__ import annotations

import asyncio
import json
from array import array
from collections.abc import Mapping
from pathlib import Path

import httpx
import msgspec

from titocli.engine.sglang_errors import raise_for_status, transport_error
from titocli.engine.sglang_reply import read_reply
from titocli.errors import EngineBrokeProtocol, EngineTimeout, TokenOutOfVocabulary
from titocli.jsonvalue import JsonObject, JsonValue
from titocli.session.generation import Completion, GenerateRequest
from titocli.tokens.ids import TokenIds

_MAX_CONNECTIONS = 1024
_CONNECT_SECONDS = 10.0
# SGLang closes an idle connection after 5 s; a request on a connection that is just being closed would fail.
_KEEP_ALIVE_SECONDS = 3.0
_ABORT_SECONDS = 5.0

# A session owns its prompt and gets one answer in one piece.
_NEVER_PASSED_ON = frozenset({"stream", "stream_options", "n", "input_ids"})


class SglangEngine:
    """An SGLang server, or a router before several, that exists already.

    ``timeout_seconds`` bounds one generation.  ``vocab_size`` bounds the ids that are sent where the model's
    own vocabulary size cannot be learnt (see ``start``); give the tokenizer's size.
    """

    def __init__(
        self,
        base_url: str,
        *,
        timeout_seconds: float = 600.0,
        api_key: str | None = None,
        vocab_size: int | None = None,
    ) -> None:
        self._url = base_url.rstrip("/").removesuffix("/v1")
        self._given_vocab_size = vocab_size
        self._vocab_size = vocab_size or 0
        self._model = ""
        self._client = httpx.AsyncClient(
            base_url=self._url,
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
            timeout=httpx.Timeout(timeout_seconds, connect=min(_CONNECT_SECONDS, timeout_seconds)),
            limits=httpx.Limits(
                max_connections=_MAX_CONNECTIONS,
                max_keepalive_connections=None,
                keepalive_expiry=_KEEP_ALIVE_SECONDS,
            ),
            # An engine is a neighbour, not behind the proxy of the environment.
            trust_env=False,
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

    async def start(self) -> None:
        """Ask the engine for its model, and learn the vocabulary size.

        SGLang does not tell its vocabulary size.  It is read from ``config.json`` where the engine's model
        path is a folder of this machine, else it is the ``vocab_size`` that was given.  The first is better:
        a model has more ids than its tokenizer and can sample them.  Raises ``EngineBrokeProtocol`` without
        either.
        """
        info = await self._model_info()
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

    async def generate(self, request: GenerateRequest) -> Completion:
        """One generation.

        Ids are checked against the vocabulary before anything is sent (``TokenOutOfVocabulary``), for an id
        outside it ends SGLang 0.5.23.  A cancelled or timed-out generation is aborted in the engine.
        Raises the classes of ``EngineError``.
        """
        self._require_in_vocabulary(request.prompt_ids)
        try:
            response = await self._send("POST", "/v1/chat/completions", request)
        except (asyncio.CancelledError, EngineTimeout):
            # A task of its own: a second cancellation must not stop it.
            await asyncio.shield(asyncio.ensure_future(self._abort(request.request_id)))
            raise
        raise_for_status(response, self._url)
        completion = await asyncio.to_thread(read_reply, response.content, request.prompt_ids)
        # What the engine sampled is in its vocabulary, whatever the tokenizer's size.
        self._vocab_size = max(self._vocab_size, 1 + max(completion.ids, default=0))
        return completion

    async def aclose(self) -> None:
        """Close the connections; safe to call twice."""
        await self._client.aclose()

    async def _model_info(self) -> JsonObject:
        response = await self._send("GET", "/model_info")
        if response.status_code == httpx.codes.NOT_FOUND:
            response = await self._send("GET", "/get_model_info")  # its name before, and a router's
        raise_for_status(response, self._url)
        try:
            info: JsonValue = msgspec.json.decode(response.content)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            info = None
        if not isinstance(info, dict):
            raise EngineBrokeProtocol(
                "the engine's /model_info is not a JSON object",
                hint="check that the URL is that of an SGLang server",
                details={"url": self._url},
            )
        return info

    async def _send(self, method: str, path: str, request: GenerateRequest | None = None) -> httpx.Response:
        headers, content = {}, None
        if request is not None:
            # The routing key keeps a session on one replica of a router, where its prefix is cached.
            headers = {"Content-Type": "application/json", "X-SMG-Routing-Key": request.session_id}
            content = msgspec.json.encode(chat_body(request, self._model), enc_hook=_plain)
        try:
            return await self._client.request(method, path, content=content, headers=headers)
        except httpx.TransportError as error:
            raise transport_error(error, self._url) from error

    async def _abort(self, request_id: str) -> None:
        """Best effort: the engine may be gone, or done already."""
        try:
            await self._client.post("/abort_request", json={"rid": request_id}, timeout=_ABORT_SECONDS)
        except httpx.HTTPError:
            return

    def _require_in_vocabulary(self, ids: TokenIds) -> None:
        if not ids or (min(ids) >= 0 and max(ids) < self._vocab_size):
            return
        index = next(i for i, token_id in enumerate(ids) if not 0 <= token_id < self._vocab_size)
        raise TokenOutOfVocabulary(
            f"id {ids[index]} is not in the engine's vocabulary of {self._vocab_size}",
            hint="the tokenizer and the engine's model do not belong together",
            details={"token_id": ids[index], "index": index, "vocab_size": self._vocab_size},
        )


def chat_body(request: GenerateRequest, model: str) -> JsonObject:
    """The body of ``POST /v1/chat/completions``; what titocli owns wins over the request's options.

    ``chat_template_kwargs`` shape no prompt here, but the engine's parsers read them (a think block that the
    prompt closed).  ``no_stop_trim`` is off, so that the message does not end in the stop token's text.
    """
    options = {key: value for key, value in request.options.items() if key not in _NEVER_PASSED_ON}
    owned: dict[str, JsonValue] = {
        "model": model,
        "messages": request.messages,
        "input_ids": request.prompt_ids.tolist(),
        "rid": request.request_id,
        "chat_template_kwargs": request.template_kwargs,
        "logprobs": True,
        "return_meta_info": True,
        "no_stop_trim": False,
    }
    if request.tools:
        owned["tools"] = request.tools
    return {**options, **owned}


def _plain(value: object) -> JsonValue:
    """What msgspec does not know: read-only mappings and arrays."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, array):
        return list(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


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


__all__ = ["SglangEngine", "chat_body"]
