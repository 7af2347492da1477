"""From the chunks of SGLang's streamed chat completion to pieces and a ``Completion``; pure.

Shapes are those of SGLang 0.5.23.  The ids of the whole completion come in one last chunk
(``sglext.output_ids``), the log-probs with the chunks; a message is what its own chunks say.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from titocli.engine.pieces import MessageAssembly
from titocli.engine.sglang_errors import broken, refused_in_stream
from titocli.engine.sglang_replay import replay_payloads
from titocli.engine.sglang_reply import aborted, checked_ids, finish_reason_of, matched_stop_of
from titocli.jsonvalue import JsonObject, JsonValue
from titocli.session.generation import Completion, GenerateRequest, MessageDelta, ToolCallDelta

DONE = b"[DONE]"


class StreamWithoutIdsError(Exception):
    """The engine streamed, but not one id and one log-prob a token: it cannot stream for a session."""


class StreamedReply:
    """Reads the events of one streamed completion in order."""

    def __init__(self, request: GenerateRequest, url: str) -> None:
        self._request = request
        self._url = url
        self._assembly = MessageAssembly()
        self._log_probs = array("d")
        self._top: list[JsonValue] = []
        self._calls: dict[int, int] = {}
        self._finish: JsonValue = None
        self._matched_stop: JsonValue = None
        self._chunk: JsonObject = {}
        self._ids: JsonObject = {}
        self._usage: JsonObject = {}

    def read(self, data: bytes) -> Iterator[MessageDelta]:
        """The pieces in one event.

        Raises ``EngineRefused`` for an error that the engine tells in the stream, ``EngineAborted``, and
        ``EngineBrokeProtocol`` for anything that cannot be read.
        """
        chunk = self._decoded(data)
        if chunk.get("error") is not None:
            raise refused_in_stream(chunk["error"], self._url)
        self._chunk = self._chunk or chunk
        self._ids = {**self._ids, **_mapping(chunk.get("sglext"))}
        self._usage = _mapping(chunk.get("usage")) or self._usage
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            yield from self._read_choice(_mapping(choice))

    @staticmethod
    def _decoded(data: bytes) -> JsonObject:
        try:
            chunk: JsonValue = msgspec.json.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            broken("an event of the stream is not JSON")
        if not isinstance(chunk, Mapping):
            broken("an event of the stream is not an object")
        return chunk

    def _read_choice(self, choice: JsonObject) -> Iterator[MessageDelta]:
        self._read_log_probs(_mapping(choice.get("logprobs")).get("content"))
        if choice.get("finish_reason") == "abort":
            raise aborted(self._chunk.get("id"))
        self._finish = choice.get("finish_reason") or self._finish
        if choice.get("matched_stop") is not None:
            self._matched_stop = choice["matched_stop"]
        for piece in self._pieces(_mapping(choice.get("delta"))):
            try:
                self._assembly.add(piece)
            except ValueError:
                broken("the stream continues a tool call that has not begun")
            yield piece

    def _read_log_probs(self, content: JsonValue) -> None:
        for entry in content if isinstance(content, list) else ():
            log_prob = _mapping(entry).get("logprob")
            if type(log_prob) not in (float, int):
                broken("logprobs.content holds a token without a log-prob")
            self._log_probs.append(float(log_prob))  # type: ignore[arg-type] # a number: the line above
            self._top.append(_mapping(entry).get("top_logprobs") or [])

    def _pieces(self, delta: JsonObject) -> Iterator[MessageDelta]:
        reasoning, content = delta.get("reasoning_content"), delta.get("content")
        if isinstance(reasoning, str) and reasoning:
            yield MessageDelta(reasoning=reasoning)
        if isinstance(content, str) and content:
            yield MessageDelta(content=content)
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            yield MessageDelta(tool_call=self._call(_mapping(call)))

    def _call(self, call: JsonObject) -> ToolCallDelta:
        """A piece of a call; calls are counted by their first pieces, whatever number the engine gives."""
        function = _mapping(call.get("function"))
        name, given = function.get("name"), call.get("index")
        number = given if type(given) is int else -1
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else ""
        if isinstance(name, str) and name:
            self._calls[number] = self._assembly.call_count
            return ToolCallDelta(index=self._calls[number], id=str(call.get("id")), name=name, arguments=text)
        return ToolCallDelta(index=self._calls.get(number, -1), arguments=text)

    def completion(self) -> Completion:
        """The completion, after the last event.

        Raises ``StreamWithoutIdsError`` where ids or log-probs are missing, and ``EngineBrokeProtocol``
        where the stream broke off or counts disagree.
        """
        if not self._chunk:
            raise StreamWithoutIdsError  # a whole reply, or nothing: no stream at all
        if self._finish is None:
            broken("the stream ended before the completion did")
        ids = self._output_ids()
        if len(ids) != len(self._log_probs):
            raise StreamWithoutIdsError
        self._require_counts(len(ids))
        details = _mapping(self._usage.get("prompt_tokens_details"))
        cached = details.get("cached_tokens")
        return Completion(
            ids=checked_ids(ids, "sglext.output_ids"),
            log_probs=self._log_probs,
            finish_reason=finish_reason_of(self._finish),
            message=self._assembly.message(),
            response_id=str(self._chunk.get("id") or ""),
            model=str(self._chunk.get("model") or ""),
            cached_tokens=cached if type(cached) is int else None,
            matched_stop=matched_stop_of(self._matched_stop),
            engine_prompt_ids=self._prompt_ids(),
            top_log_probs=tuple(self._top) if self._request.options.get("top_logprobs") else (),
            replay=replay_payloads(self._ids, self._request.replay),
        )

    def _output_ids(self) -> Sequence[JsonValue]:
        outputs = self._ids.get("output_ids")
        if not isinstance(outputs, list) or len(outputs) != 1 or not isinstance(outputs[0], list):
            raise StreamWithoutIdsError
        return outputs[0]

    def _require_counts(self, sampled: int) -> None:
        counted = self._usage.get("completion_tokens", sampled)
        if counted != sampled:
            broken(f"the engine counts {counted} completion tokens and returned {sampled} of them")
        sent = len(self._request.prompt_ids)
        read = self._usage.get("prompt_tokens", sent)
        if read != sent:
            broken(f"the engine counts {read} prompt tokens and was sent {sent}")

    def _prompt_ids(self) -> array[int] | None:
        reported = self._ids.get("input_ids")
        if not isinstance(reported, list):
            return None
        read = checked_ids(reported, "sglext.input_ids")
        if read != self._request.prompt_ids:
            broken("the engine read another prompt than it was sent")
        return read


def _mapping(value: JsonValue) -> JsonObject:
    return value if isinstance(value, Mapping) else {}


__all__ = ["DONE", "StreamWithoutIdsError", "StreamedReply"]
