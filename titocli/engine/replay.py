"""The replay engine: completions from a script, one line a turn; no model runs.

A script is JSONL.  A line has ``text`` (encoded by the tokenizer; the family's first stop token is appended
unless the text ends with a stop token or the finish reason is ``length``) or ``ids`` (taken as they are);
optionally ``finish_reason`` (``stop`` or ``length``) and ``log_probs``, one an id (0.0 where missing).  Blank
lines are skipped.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path

from titocli.engine.parsed import PieceReader, Sampled, parsed_completion, require_known_ids
from titocli.errors import EngineBrokeProtocol, EngineRefused, InvalidJson
from titocli.families.family import Family
from titocli.families.template_source import read_text
from titocli.jsonvalue import JsonValue
from titocli.session.generation import Completion, FinishReason, GenerateRequest, MessageDelta
from titocli.tokens.ids import TokenIds, token_ids
from titocli.tokens.tokenizer import Tokenizer

_KEYS = ("text", "ids", "finish_reason", "log_probs")
_INT32_END = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayLine:
    """One scripted completion: exactly one of ``text`` and ``ids`` is given."""

    text: str | None = None
    ids: tuple[int, ...] | None = None
    finish_reason: FinishReason = FinishReason.STOP
    log_probs: tuple[float, ...] | None = None


def read_replay(path: Path) -> tuple[ReplayLine, ...]:
    """The lines of a script; raises ``UnreadableFile``, or ``InvalidJson`` naming the line."""
    text = read_text(path)
    numbered = enumerate(text.split("\n"), start=1)
    return tuple(_parse_line(path, number, line) for number, line in numbered if line.strip())


def _parse_line(path: Path, number: int, line: str) -> ReplayLine:
    try:
        return _line(json.loads(line))
    except json.JSONDecodeError as error:
        what, column = error.msg, error.colno
    except (_NotALineError, RecursionError) as error:
        what, column = str(error), 1
    raise InvalidJson(
        f"line {number} of the replay script: {what}",
        hint='a line is {"text": "..."} or {"ids": [...]}, with finish_reason and log_probs as you like',
        details={"path": str(path), "line": number, "column": column},
    )


class _NotALineError(Exception):
    """JSON that is not a line of a script."""


def _line(parsed: JsonValue) -> ReplayLine:
    if not isinstance(parsed, dict):
        raise _NotALineError("not an object")
    unknown = sorted(set(parsed) - set(_KEYS))
    if unknown:
        raise _NotALineError(f"unknown key {unknown[0][:40]!r}")
    if ("text" in parsed) == ("ids" in parsed):
        raise _NotALineError("exactly one of text and ids is needed")
    line = ReplayLine(
        text=_text(parsed["text"]) if "text" in parsed else None,
        ids=_ids(parsed["ids"]) if "ids" in parsed else None,
        finish_reason=_finish_reason(parsed.get("finish_reason", "stop")),
        log_probs=_log_probs(parsed["log_probs"]) if "log_probs" in parsed else None,
    )
    if line.ids is not None and line.log_probs is not None and len(line.ids) != len(line.log_probs):
        raise _NotALineError("log_probs and ids differ in length")
    return line


def _text(value: JsonValue) -> str:
    if not isinstance(value, str):
        raise _NotALineError("text is not a string")
    return value


def _ids(value: JsonValue) -> tuple[int, ...]:
    if not isinstance(value, list) or not value:
        raise _NotALineError("ids is not a list of token ids, or empty")
    if not all(type(item) is int and 0 <= item < _INT32_END for item in value):
        raise _NotALineError("ids holds something that is not a token id")
    return tuple(value)


def _finish_reason(value: JsonValue) -> FinishReason:
    if value not in ("stop", "length"):
        raise _NotALineError("finish_reason is neither stop nor length")
    return FinishReason(str(value))


def _log_probs(value: JsonValue) -> tuple[float, ...]:
    if not isinstance(value, list) or not all(type(item) in (int, float) for item in value):
        raise _NotALineError("log_probs is not a list of numbers")
    if not all(map(math.isfinite, value)):
        raise _NotALineError("log_probs holds a number that is not finite")
    return tuple(map(float, value))


class ReplayEngine:
    """Answers each session's turns with the script's lines in order, from the first.

    A turn counts once its completion is returned; sampling options are not read.
    """

    def __init__(self, family: Family, tokenizer: Tokenizer, script: Sequence[ReplayLine]) -> None:
        self._family = family
        self._tokenizer = tokenizer
        self._script = tuple(script)
        self._turns: dict[str, int] = {}

    @property
    def name(self) -> str:
        """``replay``."""
        return "replay"

    @property
    def model(self) -> str:
        """``titocli-replay-<family>``."""
        return f"titocli-replay-{self._family.name}"

    @property
    def context_length(self) -> int | None:
        """None: a script has no limit."""
        return None

    @property
    def vocab_size(self) -> int:
        """The tokenizer's."""
        return self._tokenizer.vocab_size

    async def start(self) -> None:
        """Nothing to make ready."""

    async def generate(self, request: GenerateRequest) -> Completion:
        """The session's next line.

        Raises ``EngineRefused`` after the last line and ``TokenOutOfVocabulary`` for ids without a token.
        """
        turn = self._turns.get(request.session_id, 0)
        if turn >= len(self._script):
            raise EngineRefused(
                f"the replay script has {len(self._script)} lines and the session asked for another turn",
                hint="add lines to the script",
                details={"session_id": request.session_id, "lines": len(self._script)},
            )
        sampled = self._sampled(turn)
        completion = parsed_completion(
            self._family, self._tokenizer, request, sampled, model=self.model, cached_tokens=0
        )
        self._turns[request.session_id] = turn + 1
        return completion

    async def stream(self, request: GenerateRequest) -> AsyncGenerator[MessageDelta | Completion, None]:
        """The session's next line, read id by id."""
        completion = await self.generate(request)
        reader = PieceReader(self._family, self._tokenizer, request)
        for token_id in completion.ids:
            for piece in reader.feed((token_id,)):
                yield piece
        for piece in reader.flush():
            yield piece
        yield completion

    async def aclose(self) -> None:
        """Nothing to give back."""

    def _sampled(self, turn: int) -> Sampled:
        line = self._script[turn]
        ids = self._ids(line)
        log_probs = array("d", line.log_probs if line.log_probs is not None else [0.0] * len(ids))
        if len(log_probs) != len(ids):
            raise EngineBrokeProtocol(
                f"line {turn + 1} of the replay script has {len(log_probs)} log_probs for {len(ids)} ids",
                hint="give one log-prob an id, the stop token's included",
            )
        return Sampled(ids, log_probs, line.finish_reason, matched_stop=self._matched_stop(line, ids))

    def _ids(self, line: ReplayLine) -> TokenIds:
        if line.ids is not None:
            require_known_ids(line.ids, self._tokenizer.vocab_size)
            return token_ids(line.ids)
        return token_ids(self._tokenizer.encode(self._ended(line)))

    def _ended(self, line: ReplayLine) -> str:
        text, stop_tokens = line.text or "", self._family.stop_tokens
        if line.finish_reason is FinishReason.LENGTH or not stop_tokens or text.endswith(stop_tokens):
            return text
        return text + stop_tokens[0]

    def _matched_stop(self, line: ReplayLine, ids: TokenIds) -> int | None:
        stop_ids = {self._tokenizer.token_id(token) for token in self._family.stop_tokens}
        stopped = line.finish_reason is FinishReason.STOP and ids and ids[-1] in stop_ids
        return ids[-1] if stopped else None


__all__ = ["ReplayEngine", "ReplayLine", "read_replay"]
