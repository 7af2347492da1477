"""The OpenAPI description of every route."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from titocli import __version__
from titocli.jsonvalue import JsonObject, JsonValue

_JSON = "application/json"
_ANY: JsonObject = {"type": "object"}
_ERRORS = {
    "400": "the request cannot be honoured",
    "401": "the server's API key is missing or wrong",
    "404": "no session of this id",
    "406": "none of the formats is accepted",
    "409": "the session's history, a limit or an idempotency key forbids it, or the turn was aborted",
    "410": "the session ended; details.reason says why",
    "413": "the body is too large",
    "422": "the turns do not make a sample, or a hook failed",
    "500": "the engine and the tokenizer do not belong together, or a fault of the server",
    "501": "the server lacks what the format needs",
    "502": "the engine failed",
    "503": "the engine aborted the generation, or the server is ending",
    "504": "the engine was too slow",
}
_OF_EVERY = ("401",)
_OF_A_SESSION = (*_OF_EVERY, "404", "410")
_OF_A_BODY = ("400", "413")
_OF_A_TURN = (*_OF_A_SESSION, *_OF_A_BODY, "409", "500", "502", "503", "504")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one path: what it does, what it takes, what it answers.

    ``answers`` maps media types to schemas of the answer with ``status``; none of them is no body.
    """

    summary: str
    body: JsonObject | None = None
    body_required: bool = False
    answers: Mapping[str, JsonObject] = field(default_factory=dict)
    status: str = "200"
    errors: tuple[str, ...] = _OF_EVERY
    query: Mapping[str, JsonObject] = field(default_factory=dict)
    headers: tuple[str, ...] = ()
    tag: str = "sessions"

    def as_json(self, path: str) -> JsonObject:
        """The operation object."""
        content = {kind: {"schema": schema} for kind, schema in self.answers.items()}
        answer: dict[str, JsonValue] = {"description": "done"}
        answer |= {"content": content} if content else {}
        made: dict[str, JsonValue] = {
            "summary": self.summary,
            "tags": [self.tag],
            "parameters": self._parameters(path),
            "responses": {self.status: answer, **{status: _error(status) for status in self.errors}},
        }
        if self.body is not None:
            body: JsonObject = {"required": self.body_required, "content": {_JSON: {"schema": self.body}}}
            made["requestBody"] = body
        return made

    def _parameters(self, path: str) -> list[JsonValue]:
        named = [_parameter("session_id", "path", {"type": "string"})] if "{session_id}" in path else []
        asked = [_parameter(name, "query", schema) for name, schema in self.query.items()]
        return [*named, *asked, *(_parameter(name, "header", {"type": "string"}) for name in self.headers)]


def _parameter(name: str, where: str, schema: JsonObject) -> JsonValue:
    return {"name": name, "in": where, "required": where == "path", "schema": schema}


def _error(status: str) -> JsonValue:
    schema: JsonObject = {"$ref": "#/components/schemas/Error"}
    return {"description": _ERRORS[status], "content": {_JSON: {"schema": schema}}}


def _object(required: tuple[str, ...] = (), **properties: JsonObject) -> JsonObject:
    return {"type": "object", "properties": properties, "required": list(required)}


_NUMBER: JsonObject = {"type": ["number", "null"]}
_INTEGER: JsonObject = {"type": ["integer", "null"]}
_FLAG: JsonObject = {"type": ["boolean", "null"]}
_TEXT: JsonObject = {"type": "string"}
_MESSAGES: JsonObject = {"type": "array", "minItems": 1, "items": _object(("role",), role=_TEXT)}
_CHAT = _object(
    ("messages",),
    messages=_MESSAGES,
    tools={"type": ["array", "null"], "items": _ANY},
    stream=_FLAG,
    temperature=_NUMBER,
    top_p=_NUMBER,
    max_tokens=_INTEGER,
    max_completion_tokens=_INTEGER,
    n={"enum": [1, None]},
    seed=_INTEGER,
    logprobs=_FLAG,
    top_logprobs=_INTEGER,
    reasoning_effort={"type": ["string", "null"]},
    chat_template_kwargs={"type": ["object", "null"]},
)
_ANTHROPIC = _object(
    ("messages",), messages=_MESSAGES, max_tokens={"type": "integer"}, stream=_FLAG, tools={"type": "array"}
)
_SESSION = _object(
    metadata={"type": ["object", "null"]},
    temperature=_NUMBER,
    top_p=_NUMBER,
    top_k=_INTEGER,
    evaluation=_FLAG,
    sampling_conflict={"enum": ["refuse", "override", None]},
    chat_template_kwargs={"type": ["object", "null"]},
)
_SAMPLES = {
    _JSON: _ANY,
    "application/octet-stream": {"type": "string", "format": "binary"},
    "application/x-ndjson": _TEXT,
    "application/vnd.apache.parquet": {"type": "string", "format": "binary"},
}
_FORMATS: JsonObject = {"type": "string", "enum": ["safetensors", "jsonl", "json", "parquet"]}
_KEYS = ("Idempotency-Key", "X-Miles-Generation-Id")
_BASE = "/sessions/{session_id}"


def operations() -> Mapping[tuple[str, str], Operation]:
    """Every operation by path and method."""
    events = {_JSON: _ANY, "text/event-stream": _TEXT}
    sampled = Operation(
        summary="The training samples of a session",
        answers=_SAMPLES,
        errors=(*_OF_A_SESSION, *_OF_A_BODY, "406", "422", "501"),
        query={"format": _FORMATS, "max_seq_len": {"type": "integer"}},
    )
    return {
        ("/health", "GET"): Operation(summary="Alive, and what is served", answers={_JSON: _ANY}, errors=()),
        ("/ready", "GET"): Operation(
            summary="Whether new turns are taken", answers={_JSON: _ANY}, errors=("503",)
        ),
        ("/openapi.json", "GET"): Operation(summary="This description", answers={_JSON: _ANY}),
        ("/sessions", "GET"): Operation(summary="The live sessions", answers={_JSON: _ANY}),
        ("/sessions", "POST"): Operation(
            summary="Create a session",
            body=_SESSION,
            answers={_JSON: _object(("session_id", "base_url"), session_id=_TEXT, base_url=_TEXT)},
            errors=(*_OF_EVERY, *_OF_A_BODY, "409", "503"),
        ),
        (_BASE, "GET"): Operation(
            summary="A session's records and tree", answers={_JSON: _ANY}, errors=_OF_A_SESSION
        ),
        (_BASE, "DELETE"): Operation(
            summary="End a session and its turns under way", status="204", errors=_OF_A_SESSION
        ),
        (f"{_BASE}/abort", "POST"): Operation(
            summary="Cancel the turns under way",
            answers={_JSON: _object(("aborted",), aborted={"type": "integer"})},
            errors=_OF_A_SESSION,
        ),
        (f"{_BASE}/v1/models", "GET"): Operation(
            summary="The served model", answers={_JSON: _ANY}, errors=_OF_A_SESSION, tag="OpenAI"
        ),
        (f"{_BASE}/v1/chat/completions", "POST"): Operation(
            summary="Generate a turn, OpenAI's format",
            body=_CHAT,
            body_required=True,
            answers=events,
            errors=_OF_A_TURN,
            headers=_KEYS,
            tag="OpenAI",
        ),
        (f"{_BASE}/v1/messages", "POST"): Operation(
            summary="Generate a turn, Anthropic's format",
            body=_ANTHROPIC,
            body_required=True,
            answers=events,
            errors=_OF_A_TURN,
            tag="Anthropic",
        ),
        (f"{_BASE}/v1/messages/count_tokens", "POST"): Operation(
            summary="The length of the prompt that a turn would have",
            body=_ANTHROPIC,
            body_required=True,
            answers={_JSON: _object(("input_tokens",), input_tokens={"type": "integer"})},
            errors=(*_OF_A_SESSION, *_OF_A_BODY, "409"),
            tag="Anthropic",
        ),
        (f"{_BASE}/samples", "GET"): sampled,
        (f"{_BASE}/samples", "POST"): Operation(
            summary=sampled.summary,
            body=_object(max_seq_len=_INTEGER, metadata={"type": ["object", "null"]}),
            answers=sampled.answers,
            errors=sampled.errors,
            query=sampled.query,
        ),
    }


def openapi_document() -> JsonObject:
    """OpenAPI 3.1."""
    paths: dict[str, dict[str, JsonValue]] = {}
    for (path, method), operation in operations().items():
        paths.setdefault(path, {})[method.lower()] = operation.as_json(path)
    error = _object(("message", "code"), message=_TEXT, code={"type": ["string", "null"]})
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "titocli session server",
            "version": __version__,
            "description": "Errors below /v1/messages have Anthropic's shape, all others OpenAI's.",
        },
        "paths": paths,
        "components": {
            "schemas": {"Error": _object(("error",), error=error)},
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
            },
        },
        "security": [{}, {"bearer": []}, {"key": []}],
    }


__all__ = ["Operation", "openapi_document", "operations"]
