"""The replay engine and its script files."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from titocli.engine.pieces import MessageAssembly
from titocli.engine.replay import ReplayEngine, ReplayLine, read_replay
from titocli.errors import (
    EngineBrokeProtocol,
    EngineRefused,
    InputError,
    InvalidJson,
    TokenOutOfVocabulary,
    UnreadableFile,
)
from titocli.families.registry import get_family
from titocli.jsonvalue import Tool
from titocli.session.generation import Completion, FinishReason, GenerateRequest
from titocli.tokens.byte_level import byte_level_tokenizer
from titocli.tokens.ids import token_ids

FAMILY = get_family("qwen3")
TOKENIZER = byte_level_tokenizer(
    FAMILY.required_tokens, special=("<|endoftext|>", "<|im_start|>", "<|im_end|>")
)
END = TOKENIZER.token_id("<|im_end|>")
CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
TOOL: Tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


def _request(session_id: str = "s", request_id: str = "r") -> GenerateRequest:
    return GenerateRequest(
        request_id=request_id,
        session_id=session_id,
        prompt_ids=token_ids([1]),
        generation_prompt="<|im_start|>assistant\n<think>\n\n</think>\n\n",
        messages=[{"role": "user", "content": "hello"}],
        tools=[TOOL],
    )


def _engine(*lines: ReplayLine) -> ReplayEngine:
    return ReplayEngine(FAMILY, TOKENIZER, lines)


def _generate(engine: ReplayEngine, session_id: str = "s") -> Completion:
    return asyncio.run(engine.generate(_request(session_id)))


def test_text_is_encoded_and_ended_with_the_first_stop_token() -> None:
    done = _generate(_engine(ReplayLine(text="hi")))
    assert list(done.ids) == [*b"hi", END]
    assert list(done.log_probs) == [0.0, 0.0, 0.0]
    assert (done.finish_reason, done.matched_stop) == (FinishReason.STOP, END)
    assert (done.response_id, done.model, done.cached_tokens) == ("chatcmpl-r", "titocli-replay-qwen3", 0)
    assert done.message == {"role": "assistant", "content": "hi"}


def test_text_that_has_a_stop_token_or_ends_by_length_is_left_as_it_is() -> None:
    other_stop = TOKENIZER.token_id("<|endoftext|>")
    assert list(_generate(_engine(ReplayLine(text="hi<|endoftext|>"))).ids) == [*b"hi", other_stop]
    cut = _generate(_engine(ReplayLine(text="hi", finish_reason=FinishReason.LENGTH)))
    assert (list(cut.ids), cut.finish_reason, cut.matched_stop) == ([*b"hi"], FinishReason.LENGTH, None)


def test_ids_are_taken_as_they_are_with_their_log_probs() -> None:
    spelled = tuple(b"<think>")
    done = _generate(_engine(ReplayLine(ids=spelled, log_probs=tuple(-float(n) for n in range(7)))))
    assert tuple(done.ids) == spelled
    assert list(done.log_probs) == [0.0, -1.0, -2.0, -3.0, -4.0, -5.0, -6.0]
    assert done.matched_stop is None


def test_tool_calls_are_parsed_and_named_as_the_finish_reason() -> None:
    done = _generate(_engine(ReplayLine(text=f"well\n{CALL}")))
    assert done.finish_reason is FinishReason.TOOL_CALLS
    calls: Any = done.message["tool_calls"]
    (call,) = calls
    assert call["function"]["name"] == "f"
    assert json.loads(call["function"]["arguments"]) == {"a": 1}
    (attempt,) = done.parse_attempts
    assert attempt["name"] == "f"
    cut = _generate(_engine(ReplayLine(text=CALL, finish_reason=FinishReason.LENGTH)))
    assert cut.finish_reason is FinishReason.LENGTH


def test_each_session_replays_from_the_first_line_and_then_is_refused() -> None:
    engine = _engine(ReplayLine(text="one"), ReplayLine(text="two"))
    said = [_generate(engine, session).message["content"] for session in ("a", "b", "a", "b")]
    assert said == ["one", "one", "two", "two"]
    with pytest.raises(EngineRefused) as refused:
        _generate(engine, "a")
    assert refused.value.hint
    assert refused.value.details == {"session_id": "a", "lines": 2}


def test_a_turn_that_failed_is_replayed_again() -> None:
    engine = _engine(ReplayLine(ids=(TOKENIZER.vocab_size,)), ReplayLine(text="two"))
    for _ in range(2):
        with pytest.raises(TokenOutOfVocabulary):
            _generate(engine)


def test_log_probs_must_be_one_an_id_of_the_encoded_text() -> None:
    with pytest.raises(EngineBrokeProtocol):
        _generate(_engine(ReplayLine(text="hi", log_probs=(0.0, 0.0))))
    done = _generate(_engine(ReplayLine(text="hi", log_probs=(-1.0, -2.0, -3.0))))
    assert list(done.log_probs) == [-1.0, -2.0, -3.0]


def test_starting_and_closing_take_nothing() -> None:
    async def live() -> None:
        engine = _engine()
        await engine.start()
        await engine.aclose()
        await engine.aclose()

    asyncio.run(live())
    assert _engine().name == "replay"


def _script(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "script.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_a_script_is_read_line_by_line(tmp_path: Path) -> None:
    path = _script(
        tmp_path,
        '{"text": "grüß dich\\u2028!"}',
        "",
        '{"ids": [1, 2], "log_probs": [-0.5, 0], "finish_reason": "length"}',
        "",
    )
    assert read_replay(path) == (
        ReplayLine(text="grüß dich\u2028!"),
        ReplayLine(ids=(1, 2), log_probs=(-0.5, 0.0), finish_reason=FinishReason.LENGTH),
    )


@pytest.mark.parametrize(
    "bad",
    [
        "{",
        "[]",
        "{}",
        '{"text": "a", "ids": [1]}',
        '{"text": "a", "stop": true}',
        '{"text": 1}',
        '{"text": null}',
        '{"ids": []}',
        '{"ids": "12"}',
        '{"ids": [1.0]}',
        '{"ids": [true]}',
        '{"ids": [-1]}',
        '{"ids": [2147483648]}',
        '{"ids": [1], "log_probs": []}',
        '{"ids": [1], "log_probs": ["a"]}',
        '{"ids": [1], "log_probs": [NaN]}',
        '{"ids": [1], "log_probs": null}',
        '{"text": "a", "finish_reason": "tool_calls"}',
        '{"text": "a", "finish_reason": null}',
        "[" * 100_000,
    ],
)
def test_a_line_that_cannot_be_used_is_named_by_its_number(tmp_path: Path, bad: str) -> None:
    with pytest.raises(InvalidJson) as refused:
        read_replay(_script(tmp_path, '{"text": "fine"}', "", bad))
    assert isinstance(refused.value, InputError)
    details: Any = refused.value.details
    assert details["line"] == 3
    assert "line 3" in refused.value.message


def test_a_file_that_is_missing_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile):
        read_replay(tmp_path / "absent.jsonl")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UnreadableFile):
        read_replay(tmp_path / "binary")


def _stream(engine: ReplayEngine) -> list[Any]:
    async def pieces() -> list[Any]:
        return [piece async for piece in engine.stream(_request())]

    return asyncio.run(pieces())


def test_a_streamed_line_comes_in_pieces_that_are_its_message() -> None:
    line = ReplayLine(text=f"hi there\n{CALL}")
    *pieces, completion = _stream(_engine(line))
    assembly = MessageAssembly()
    for piece in pieces:
        assembly.add(piece)

    assert completion == _generate(_engine(line))
    assert assembly.message() == completion.message
    assert len([piece for piece in pieces if piece.content]) > 2
    assert [piece.tool_call.name for piece in pieces if piece.tool_call] == ["f"]


def test_a_stream_after_the_last_line_is_refused() -> None:
    engine = _engine(ReplayLine(text="hi"))
    _stream(engine)
    with pytest.raises(EngineRefused):
        _stream(engine)
