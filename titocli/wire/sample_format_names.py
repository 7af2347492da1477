"""The formats that samples can be had in, by name."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class SampleFormat(StrEnum):
    """A format as ``?format=`` and the command line spell it."""

    SAFETENSORS = "safetensors"
    JSON = "json"
    JSONL = "jsonl"
    PARQUET = "parquet"

    @property
    def media_type(self) -> str:
        """The ``Content-Type`` of a reply."""
        return MEDIA_TYPES[self][0]


#: Media types by which a client may ask for each format; a reply has the first.
MEDIA_TYPES: Mapping[SampleFormat, tuple[str, ...]] = MappingProxyType(
    {
        SampleFormat.SAFETENSORS: ("application/octet-stream", "application/vnd.safetensors"),
        SampleFormat.JSON: ("application/json",),
        SampleFormat.JSONL: ("application/x-ndjson", "application/jsonl"),
        SampleFormat.PARQUET: ("application/vnd.apache.parquet",),
    }
)

__all__ = ["MEDIA_TYPES", "SampleFormat"]
