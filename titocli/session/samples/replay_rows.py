"""The replay data of a sample, from the payloads of its turns.

A payload covers the rows ``[start, ids - 1)`` of its turn.  Either each turn has the whole sequence (the last
one counts), or each has what the turns before it do not cover (they are joined).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NoReturn

from titocli.errors import SamplesImpossible
from titocli.session.generation import ReplayKind, ReplayPayload
from titocli.session.samples.parts import TurnPart
from titocli.session.samples.sample import INT32_BYTES, ReplayRows
from titocli.session.tree import Turn


def until_gap(parts: Sequence[TurnPart], kinds: Sequence[ReplayKind] = tuple(ReplayKind)) -> int:
    """How many of ``parts`` make one sample: up to a truncated one, or to one that lacks replay data.

    A turn without data after one with it (an engine that lost it) would leave a hole.
    """
    for count, (part, follower) in enumerate(pairwise(parts), start=1):
        here, there = part.turn.completion.replay, follower.turn.completion.replay
        if part.truncated or any(kind in here and kind not in there for kind in kinds):
            return count
    return len(parts)


def replay_rows(parts: Sequence[TurnPart], kind: ReplayKind) -> ReplayRows | None:
    """The rows of all ids but the last; None when no turn has such data.

    Raises ``SamplesImpossible``: rows of a wrong shape, missing ones, ones that do not join.
    """
    payloads = [part.turn.completion.replay.get(kind) for part in parts]
    if not any(payload is not None for payload in payloads):
        return None
    if any(payload is not None and payload.start is not None for payload in payloads):
        rows = _joined(kind, parts)
    else:
        rows = _last(kind, parts, payloads[-1])
    return _first_rows(rows, max(0, parts[-1].end - 1))


def _last(kind: ReplayKind, parts: Sequence[TurnPart], payload: ReplayPayload | None) -> ReplayRows:
    if payload is None:
        _impossible(f"{kind}: record {len(parts) - 1} has no {kind} payload")
    return _shaped(kind, len(parts) - 1, payload, _last_row(parts[-1].turn))


def _joined(kind: ReplayKind, parts: Sequence[TurnPart]) -> ReplayRows:
    covered, pieces = 0, list[ReplayRows]()
    for index, part in enumerate(parts):
        payload = part.turn.completion.replay.get(kind)
        if payload is None:
            _impossible(f"{kind}: record {index} has no {kind} payload")
        start = _start(kind, index, payload)
        if start != covered:
            _impossible(f"{kind}: record {index} starts at row {start}; expected {covered}")
        pieces.append(_shaped(kind, index, payload, _last_row(part.turn) - start))
        covered += pieces[-1].rows
    return _concatenated(kind, pieces)


def _start(kind: ReplayKind, index: int, payload: ReplayPayload) -> int:
    if payload.start is None:
        _impossible(f"{kind}: the request of record {index} carries no {kind}_start_len")
    return payload.start


def _shaped(kind: ReplayKind, index: int, payload: ReplayPayload, rows: int) -> ReplayRows:
    """The payload as ``rows`` rows; top-k follows from its size."""
    if bool(payload.data) != (rows > 0):
        _impossible(f"{kind}: record {index}: payload presence does not match {rows} rows")
    values, cell = len(payload.data) // INT32_BYTES, max(0, rows) * payload.layers
    if len(payload.data) % INT32_BYTES or (cell and values % cell):
        _impossible(
            f"{kind}: record {index}: {len(payload.data)} bytes are not int32 of shape "
            f"({rows}, {payload.layers}, top-k)"
        )
    return ReplayRows(
        data=payload.data, rows=max(0, rows), layers=payload.layers, top_k=values // cell if cell else 0
    )


def _concatenated(kind: ReplayKind, pieces: Sequence[ReplayRows]) -> ReplayRows:
    shapes = {(piece.layers, piece.top_k) for piece in pieces if piece.rows}
    if len(shapes) > 1:
        _impossible(f"{kind}: records differ in layers or top-k: {sorted(shapes)}")
    layers, top_k = shapes.pop() if shapes else (pieces[0].layers, 0)
    return ReplayRows(
        data=b"".join(piece.data for piece in pieces),
        rows=sum(piece.rows for piece in pieces),
        layers=layers,
        top_k=top_k,
    )


def _first_rows(rows: ReplayRows, required: int) -> ReplayRows:
    """As many rows as a sample needs: its turns have no fewer, for each payload was held to its own ids."""
    row_bytes = INT32_BYTES * rows.layers * rows.top_k
    return ReplayRows(
        data=rows.data[: required * row_bytes], rows=required, layers=rows.layers, top_k=rows.top_k
    )


def _last_row(turn: Turn) -> int:
    """The row after a turn's last one: all its ids were read but the last."""
    return turn.token_count - 1


def _impossible(message: str) -> NoReturn:
    raise SamplesImpossible(
        message, hint="the engine's replay data and its ids do not belong together; nothing can be trained"
    )


__all__ = ["replay_rows", "until_gap"]
