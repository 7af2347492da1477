"""Encoding samples in a format, and how a client chooses one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from titocli.errors import NotAcceptable, UnknownName
from titocli.wire import sample_json, sample_parquet, sample_safetensors
from titocli.wire.sample_document import SampleDocument
from titocli.wire.sample_format_names import MEDIA_TYPES, SampleFormat

_ENCODERS: Mapping[SampleFormat, Callable[[SampleDocument], bytes]] = MappingProxyType(
    {
        SampleFormat.SAFETENSORS: sample_safetensors.encode,
        SampleFormat.JSON: sample_json.encode_json,
        SampleFormat.JSONL: sample_json.encode_jsonl,
        SampleFormat.PARQUET: sample_parquet.encode_parquet,
    }
)


def encode_samples(document: SampleDocument, wanted: SampleFormat) -> bytes:
    """The document in a format; raises ``MissingExtra`` for Parquet without pyarrow."""
    return _ENCODERS[wanted](document)


def chosen_format(named: str | None, accept: str | None, default: SampleFormat) -> SampleFormat:
    """The format of a reply: ``?format=`` before ``Accept`` before the default.

    Raises ``UnknownName`` for a name that is none, ``NotAcceptable`` where no media type of ``accept`` is one
    of these.
    """
    if named is not None:
        return named_format(named)
    if not accept:
        return default
    for media_type in _by_preference(accept):
        found = _of_media_type(media_type, default)
        if found is not None:
            return found
    raise NotAcceptable(
        "samples cannot be had in any of the media types that Accept names",
        hint="ask with ?format=safetensors, json, jsonl or parquet",
        details={"param": "Accept"},
    )


def named_format(name: str) -> SampleFormat:
    """The format of a name; raises ``UnknownName``."""
    try:
        return SampleFormat(name)
    except ValueError:
        raise UnknownName.among("sample format", name, [wanted.value for wanted in SampleFormat]) from None


def _of_media_type(media_type: str, default: SampleFormat) -> SampleFormat | None:
    if media_type in ("*/*", "application/*"):
        return default
    return next((wanted for wanted, types in MEDIA_TYPES.items() if media_type in types), None)


def _by_preference(accept: str) -> list[str]:
    """The media types of an ``Accept`` header, most wanted first; those with q=0 are not wanted."""
    ranges = [_range(part) for part in accept.split(",")]
    wanted = [(media_type, quality) for media_type, quality in ranges if media_type and quality > 0]
    return [media_type for media_type, _ in sorted(wanted, key=lambda pair: -pair[1])]


def _range(part: str) -> tuple[str, float]:
    media_type, *parameters = (piece.strip().lower() for piece in part.split(";"))
    quality = next((value[2:] for value in parameters if value.startswith("q=")), "1")
    try:
        return media_type, float(quality)
    except ValueError:
        return media_type, 0.0


__all__ = ["chosen_format", "encode_samples", "named_format"]
