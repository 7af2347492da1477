"""Replay data in SGLang's answers; pure."""

from __future__ import annotations

import binascii
from collections.abc import Mapping

from titocli.engine.sglang_errors import broken
from titocli.jsonvalue import JsonObject
from titocli.session.generation import ReplayKind, ReplayPayload, ReplayRequest

#: Characters that are decoded at once; whole groups of four.
_PIECE = 1 << 20


def replay_payloads(told: JsonObject, asked: ReplayRequest | None) -> Mapping[ReplayKind, ReplayPayload]:
    """The payloads in ``meta_info`` or ``sglext`` that were asked for; an engine may leave them out.

    Raises ``EngineBrokeProtocol`` for a payload that is not base64, or comes without its number of layers.
    """
    if asked is None:
        return {}
    return {
        kind: _payload(kind, data, told, asked)
        for kind in sorted(asked.outputs.kinds)
        if isinstance(data := told.get(kind.value), str)
    }


def _payload(kind: ReplayKind, data: str, told: JsonObject, asked: ReplayRequest) -> ReplayPayload:
    if kind is ReplayKind.ROUTED_EXPERTS:
        return ReplayPayload(data=_decoded(kind, data), start=asked.start, layers=asked.outputs.layers or 0)
    layers = told.get("indexer_topk_num_layers")
    if type(layers) is not int or layers < 1:
        broken(f"the engine's {kind.value} come without indexer_topk_num_layers")
    return ReplayPayload(data=_decoded(kind, data), start=None, layers=layers)


def _decoded(kind: ReplayKind, data: str) -> bytes:
    """The bytes; decoded piece by piece, so that other threads get their turn in between."""
    pieces = (data[at : at + _PIECE] for at in range(0, len(data), _PIECE))
    try:
        return b"".join(binascii.a2b_base64(piece, strict_mode=True) for piece in pieces)
    except ValueError:
        broken(f"the engine's {kind.value} are not base64")


__all__ = ["replay_payloads"]
