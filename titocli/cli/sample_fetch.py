"""Fetching the samples of a session for the command line."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from titocli.client import Client
from titocli.errors import ConflictingOption, InvalidJson, InvalidOption, UnreadableFile
from titocli.families.template_source import read_text
from titocli.jsonvalue import JsonObject
from titocli.report.result import Body, Envelope, Notice, Result
from titocli.wire.sample_format_names import SampleFormat

_BINARY = (SampleFormat.SAFETENSORS, SampleFormat.PARQUET)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleFetch:
    """What one run of ``titocli samples`` was asked."""

    session_url: str
    wanted: SampleFormat
    output: Path | None
    max_seq_len: int | None
    metadata: str | None
    api_key_env: str | None
    timeout_seconds: float


def chosen_sample_format(
    asked: SampleFormat | None, *, json_asked: bool, output: Path | None, on_terminal: bool
) -> SampleFormat:
    """The format of a run: the one asked for, else the one that the output's name ends in, else JSONL."""
    if json_asked and asked not in (None, SampleFormat.JSON):
        raise ConflictingOption(
            f"--json is --format json, but --format {asked} is given", hint="give one of them"
        )
    wanted = SampleFormat.JSON if json_asked else asked or _by_suffix(output)
    if on_terminal and wanted in _BINARY:
        raise InvalidOption(
            f"--format {wanted} is not for a terminal", hint=f"give --output samples.{wanted}"
        )
    return wanted


def _by_suffix(output: Path | None) -> SampleFormat:
    suffix = "" if output is None else output.suffix.removeprefix(".").lower()
    return next((form for form in SampleFormat if form.value == suffix), SampleFormat.JSONL)


def fetched_samples(fetch: SampleFetch) -> Result:
    """The samples as the server encodes them; under ``--json`` as the data of the envelope."""
    metadata = None if fetch.metadata is None else _metadata(fetch.metadata)
    with Client(
        fetch.session_url, api_key=_api_key(fetch.api_key_env), timeout_seconds=fetch.timeout_seconds
    ) as client:
        data = client.session(fetch.session_url).encoded_samples(
            fetch.wanted, max_seq_len=fetch.max_seq_len, metadata=metadata
        )
    if fetch.wanted is not SampleFormat.JSON:
        return Result(body=data, output=fetch.output, warnings=_warnings(data, fetch.wanted))
    document: dict[str, Any] = json.loads(data)
    body: Body = Envelope(document)
    return Result(body=body, output=fetch.output, warnings=_empty(document["empty_reason"]))


def _warnings(data: bytes, wanted: SampleFormat) -> tuple[Notice, ...]:
    return _empty("no line came") if wanted is SampleFormat.JSONL and not data else ()


def _empty(reason: str | None) -> tuple[Notice, ...]:
    if reason is None:
        return ()
    hint = "nothing was generated yet, or --max-seq-len leaves nothing of it"
    return (Notice(code="no_samples", message=f"the session has no samples: {reason}", hint=hint),)


def _metadata(where: str) -> JsonObject:
    name = "standard input" if where == "-" else where
    text = _stdin() if where == "-" else read_text(Path(where))
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidJson(f"{name} is not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise InvalidJson(f"{name} is not a JSON object", hint='for example {"reward": 1.0}')
    return parsed


def _stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise UnreadableFile("standard input is not UTF-8 text", hint="convert it to UTF-8") from error


def _api_key(variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable)
    if not key:
        raise InvalidOption(f"the environment variable {variable} is not set", hint="it holds the API key")
    return key


__all__ = ["SampleFetch", "chosen_sample_format", "fetched_samples"]
