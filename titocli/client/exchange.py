"""What the clients send and what they make of the answers; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec

from titocli.client.arrays import SampleBatch
from titocli.errors import InvalidOption, ServerRefused, ServerUnreachable, TitoError
from titocli.jsonvalue import JsonObject, JsonValue
from titocli.wire.sample_format_names import SampleFormat
from titocli.wire.sample_safetensors import decode

#: Seconds for one answer; assembling the samples of a long session takes some.
TIMEOUT_SECONDS = 120.0


def server_url(url: str) -> str:
    """The server's URL without a slash at its end; raises ``InvalidOption`` for what is no HTTP URL."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InvalidOption(f"{url!r} is not an HTTP URL", hint="for example http://127.0.0.1:30080")
    return url.rstrip("/")


def session_url(url: str) -> str:
    """The base URL of a session, from it or from its OpenAI base URL; raises ``InvalidOption``."""
    trimmed = server_url(url).removesuffix("/v1")
    before, _, session_id = trimmed.rpartition("/")
    if not before.endswith("/sessions") or not session_id:
        raise InvalidOption(
            f"{url!r} is not the URL of a session", hint="for example http://127.0.0.1:30080/sessions/ID"
        )
    return trimmed


def created(response: httpx.Response) -> tuple[str, str]:
    """The id and the base URL of the session that was created."""
    body = json_object(response)
    session_id, base_url = body.get("session_id"), body.get("base_url")
    if not isinstance(session_id, str) or not isinstance(base_url, str):
        raise _unusable(response, "no session_id and base_url")
    return session_id, base_url


def json_object(response: httpx.Response) -> JsonObject:
    """The JSON object of a successful answer; raises what ``require_success`` does, and ``ServerRefused``."""
    require_success(response)
    body = _parsed(response)
    if not isinstance(body, Mapping):
        raise _unusable(response, "no JSON object")
    return body


def sample_batch(response: httpx.Response) -> SampleBatch:
    """The samples of a successful answer; raises what ``require_success`` and the codec do."""
    return SampleBatch.of(decode(encoded_samples(response, SampleFormat.SAFETENSORS)))


def encoded_samples(response: httpx.Response, wanted: SampleFormat) -> bytes:
    """The body of a successful answer in the format that was asked for; ``ServerRefused`` for another."""
    require_success(response)
    if not response.headers.get("content-type", "").startswith(wanted.media_type):
        raise _unusable(response, f"something else than {wanted}")
    return response.content


def samples_body(max_seq_len: int | None, metadata: Mapping[str, JsonValue] | None) -> dict[str, Any]:
    """The body of a request for samples."""
    body = {"max_seq_len": max_seq_len, "metadata": metadata}
    return {name: value for name, value in body.items() if value is not None}


def accept(wanted: SampleFormat) -> dict[str, str]:
    """The headers that ask for a format."""
    return {"Accept": wanted.media_type}


def require_success(response: httpx.Response) -> None:
    """Raise the error that the server answered with, as the class that it raised; ``ServerRefused`` else."""
    if response.is_success:
        return
    body = _parsed(response)
    error = body.get("error") if isinstance(body, Mapping) else None
    if not isinstance(error, Mapping) or not isinstance(error.get("message"), str):
        raise _unusable(response, "an error that is not the session server's")
    raise _rebuilt(error, response.status_code)


def unreachable(url: str, error: httpx.TransportError) -> ServerUnreachable:
    """The error for a connection that failed."""
    return ServerUnreachable(
        f"no answer from the session server at {url}: {type(error).__name__}",
        hint="is it running? see titocli serve-session",
        details={"url": url},
    )


def _rebuilt(error: Mapping[str, Any], status: int) -> TitoError:
    classes = {each.code: each for each in _subclasses(TitoError) if "code" in vars(each)}
    found = classes.get(str(error.get("code")), ServerRefused)
    details = error.get("details")
    hint = error.get("hint")
    return found(
        str(error["message"]),
        hint=hint if isinstance(hint, str) else None,
        details={**(details if isinstance(details, Mapping) else {}), "status": status},
    )


def _subclasses(parent: type[TitoError]) -> Iterator[type[TitoError]]:
    for child in parent.__subclasses__():
        yield child
        yield from _subclasses(child)


def _parsed(response: httpx.Response) -> JsonValue:
    try:
        parsed: JsonValue = msgspec.json.decode(response.content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return parsed


def _unusable(response: httpx.Response, what: str) -> ServerRefused:
    return ServerRefused(
        f"{response.request.url} answered {response.status_code} with {what}",
        hint="check that the URL is that of a titocli session server",
        details={"status": response.status_code},
    )


__all__ = [
    "TIMEOUT_SECONDS",
    "accept",
    "created",
    "encoded_samples",
    "json_object",
    "require_success",
    "sample_batch",
    "samples_body",
    "server_url",
    "session_url",
    "unreachable",
]
