"""The JSON document that every command prints under ``--json``: keys sorted, one newline at the end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from titocli.errors import TitoError
from titocli.jsonvalue import JsonObject
from titocli.report.result import Notice, Status


def envelope(
    command: str,
    status: Status,
    exit_code: int,
    *,
    data: JsonObject | None = None,
    warnings: Sequence[Notice] = (),
    errors: Sequence[TitoError] = (),
) -> bytes:
    """The document of one run, in UTF-8."""
    document = {
        "schema": f"titocli/{command}/1",
        "status": status.value,
        "exit_code": exit_code,
        "data": data or {},
        "warnings": [
            {"code": notice.code, "message": notice.message, "hint": notice.hint} for notice in warnings
        ],
        "errors": [_error(error) for error in errors],
    }
    text = json.dumps(document, sort_keys=True, ensure_ascii=False, default=_plain)
    # A lone surrogate from the command line has no UTF-8.
    return f"{text}\n".encode("utf-8", "replace")


def _error(error: TitoError) -> JsonObject:
    return {
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "details": error.details,
    }


def _plain(value: object) -> object:
    """Mappings and sequences that the json module does not know."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


__all__ = ["envelope"]
