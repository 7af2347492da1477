"""Response parsers: ids and spans, stop tokens, reasoning, call ids, and that nothing ends them."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.families.parsing import (
    MERGING,
    NO_THINK,
    OPEN_THINK,
    TOKENIZER,
    UNOPENED,
    hermes_call,
    id_of,
    parse,
    parse_ids,
    statuses,
    tool,
    xml_call,
)
from titocli.families.parsers.parsed import ReasoningStatus

FAMILIES = ["qwen3", "qwennext", "qwen35", "qwen36", "qwen38small", "qwen4exp"]
END = id_of("<|im_end|>")
PIECES = (
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "\n",
    "\n\n",
    "text",
    "<function=f>",
    "</function>",
    "<parameter=a>",
    "\n</parameter>\n",
    '{"name": "f", "arguments": {"a": 1}}',
    '{"name": "',
    "}",
    "é",
    hermes_call("f", {"a": "</tool_call>"}),
    xml_call("g", {"a": "1"}),
    "<|im_end|>",
)
PROMPTS = st.sampled_from([OPEN_THINK, NO_THINK, UNOPENED, ""])
#: Any ids: bytes that are no UTF-8, ids without a token, pieces of calls in two spellings.
PIECE = st.sampled_from(PIECES)
IDS = st.lists(
    st.one_of(
        st.integers(-2, 300).map(lambda token_id: [token_id]),
        st.integers(-(2**31), 2**31 - 1).map(lambda token_id: [token_id]),
        PIECE.map(TOKENIZER.encode),
        PIECE.map(lambda piece: list(piece.encode())),
    ),
    max_size=25,
).map(lambda pieces: [token_id for piece in pieces for token_id in piece])


def _source(ids: list[int], start: int, end: int) -> str:
    return TOKENIZER.decode([token_id for token_id in ids[start:end] if token_id >= 0])


@given(st.sampled_from(["default", *FAMILIES]), IDS, PROMPTS, st.booleans())
def test_any_ids_have_an_answer_whose_spans_are_in_order(
    family: str, ids: list[int], prompt: str, with_tools: bool
) -> None:
    parsed = parse_ids(family, ids, generation_prompt=prompt, tools=[tool("f")] if with_tools else [])
    edges = [parsed.reasoning.start, parsed.reasoning.end]
    edges += [edge for attempt in parsed.attempts for edge in (attempt.start, attempt.end)]
    assert edges == sorted(edges)
    assert edges[-1] <= len(ids)
    for attempt in parsed.attempts:
        source = _source(ids, attempt.start, attempt.end)
        assert source.startswith("<tool_call>")
        assert source.endswith("</tool_call>") or attempt.status == "unclosed"
    json.dumps(parsed.message(), ensure_ascii=False).encode()
    for call in parsed.tool_calls:
        assert isinstance(json.loads(call.arguments), dict)


@given(st.sampled_from(FAMILIES), IDS)
def test_text_is_content_or_called_and_nothing_is_lost(family: str, ids: list[int]) -> None:
    parsed = parse_ids(family, ids)
    if parsed.reasoning.status is not ReasoningStatus.ABSENT:
        return
    end = len(ids)
    while end and ids[end - 1] in {END, TOKENIZER.token_id("<|endoftext|>")}:
        end -= 1
    called = [attempt for attempt in parsed.attempts if attempt.status.called]
    edges = [0, *(edge for attempt in called for edge in (attempt.start, attempt.end)), end]
    outside = "".join(_source(ids, a, b) for a, b in zip(edges[::2], edges[1::2], strict=True))
    assert len(called) == len(parsed.tool_calls)
    assert outside.startswith(parsed.content)
    assert set(outside.removeprefix(parsed.content)) <= {"\n"}
    if not called:
        assert outside == parsed.content


@pytest.mark.parametrize(
    ("family", "call"),
    [("qwen3", hermes_call("f", {"a": "é"})), ("qwen35", xml_call("f", {"a": "é\n}"}))],
)
def test_spans_are_the_fewest_ids_that_cover_a_call(family: str, call: str) -> None:
    text = f"nk>\n\nwell</think>\n\nsome text{call}\n{call}\n\n"
    ids = [-1, *MERGING.encode(text), *MERGING.encode("<|im_end|>")]
    parsed = parse_ids(family, ids, tokenizer=MERGING, generation_prompt=OPEN_THINK)
    pieces = [b"", *map(MERGING.token_bytes, ids[1:])]
    assert statuses(parsed) == [("ok", "f")] * 2
    assert max(map(len, pieces[parsed.attempts[0].start : parsed.attempts[0].end])) > 4
    for attempt in parsed.attempts:
        spelled = b"".join(pieces[attempt.start : attempt.end])
        assert call.encode() in spelled
        assert call.encode() not in b"".join(pieces[attempt.start + 1 : attempt.end])
        assert call.encode() not in b"".join(pieces[attempt.start : attempt.end - 1])
    block = b"".join(pieces[parsed.reasoning.start : parsed.reasoning.end])
    assert block == b"nk>\n\nwell</think>\n\n"[: len(block)]
    assert len(block) >= len("nk>\n\nwell</think>")


def test_stop_tokens_are_dropped_at_the_end_only() -> None:
    parsed = parse("qwen3", "a<|im_end|>b<|endoftext|><|im_end|>")
    assert parsed.content == "a<|im_end|>b"
    assert parse_ids("default", [*b"a", END]).content == "a<|im_end|>"
    assert parse_ids("qwen3", [END]).message() == {"role": "assistant", "content": ""}


def test_a_character_that_was_cut_is_a_replacement_character() -> None:
    assert parse_ids("qwen3", [*"aé".encode()][:-1]).content == "a\ufffd"
    cut = [*"é".encode()][:1]
    text = hermes_call("f", {"a": "?"}).split("?")
    parsed = parse_ids("qwen3", [*TOKENIZER.encode(text[0]), *cut, *TOKENIZER.encode(text[1])])
    assert parsed.tool_calls[0].arguments == '{"a": "\ufffd"}'


@pytest.mark.parametrize(
    ("prompt", "text", "expected"),
    [
        (OPEN_THINK, "why\n</think>\n\nso", ("closed", 0, 5, "why", "so")),
        (OPEN_THINK, "why</think>so", ("closed", 0, 4, "why", "so")),
        (OPEN_THINK, "why</think>\nso", ("closed", 0, 4, "why", "so")),
        (OPEN_THINK, "why</think>\n\n\nso", ("closed", 0, 4, "why", "\nso")),
        (OPEN_THINK, "a</think>\n\nb</think>c", ("closed", 0, 2, "a", "b</think>c")),
        (OPEN_THINK, "\n</think>\n\nso", ("closed", 0, 2, None, "so")),
        (OPEN_THINK, " \n</think>", ("closed", 0, 3, " ", "")),
        (OPEN_THINK, "why\n\n<tool_call>", ("unclosed", 0, 6, "why\n\n<tool_call>", "")),
        (OPEN_THINK, "<|im_end|>", ("unclosed", 0, 0, None, "")),
        (NO_THINK, "why</think>so", ("absent", 0, 0, None, "why</think>so")),
        (NO_THINK, "\n\nso", ("absent", 0, 0, None, "\n\nso")),
        (UNOPENED, "<think>\nwhy\n</think>\n\nso", ("closed", 0, 7, "why", "so")),
        (UNOPENED, " \n<think>why</think>so", ("closed", 2, 7, "why", "so")),
        (UNOPENED, "so<think>why</think>", ("absent", 0, 0, None, "so<think>why</think>")),
        (UNOPENED, "<think>\nwhy", ("unclosed", 0, 5, "why", "")),
        ("<think>a</think><think>", "why</think>so", ("closed", 0, 4, "why", "so")),
        ("", "so", ("absent", 0, 0, None, "so")),
    ],
)
def test_reasoning_is_what_stands_in_the_first_think_block(prompt: str, text: str, expected: object) -> None:
    parsed = parse("qwen3", text, generation_prompt=prompt)
    block = parsed.reasoning
    assert (block.status, block.start, block.end, parsed.reasoning_content, parsed.content) == expected


def test_tags_that_are_spelled_by_bytes_count_as_tags() -> None:
    text = "<think>\nwhy\n</think>\n\n" + hermes_call("f", {})
    spelled = list(text.encode())
    parsed = parse_ids("qwen3", spelled, generation_prompt=UNOPENED)
    assert (parsed.reasoning_content, parsed.content, statuses(parsed)) == ("why", "", [("ok", "f")])
    assert (parsed.reasoning.start, parsed.reasoning.end) == (0, len("<think>\nwhy\n</think>"))
    assert (parsed.attempts[0].start, parsed.attempts[0].end) == (text.index("<tool_call>"), len(spelled))


def test_a_family_without_parsers_has_content_only() -> None:
    text = "<think>\nwhy\n</think>\n\n" + hermes_call("f", {})
    assert parse("default", text).message() == {"role": "assistant", "content": text}


def test_calls_inside_reasoning_are_reasoning() -> None:
    call = hermes_call("f", {})
    parsed = parse("qwen3", f"{call}\n</think>\n\n{call}", generation_prompt=OPEN_THINK)
    assert parsed.reasoning_content == call
    assert statuses(parsed) == [("ok", "f")]
    assert parsed.attempts[0].start > parsed.reasoning.end


def test_the_message_has_openai_shape_and_leaves_out_what_is_not_there() -> None:
    parsed = parse(
        "qwen3", "why\n</think>\n\nso\n" + hermes_call("f", {"a": 1}), generation_prompt=OPEN_THINK
    )
    (call,) = parsed.tool_calls
    assert parsed.message() == {
        "role": "assistant",
        "content": "so",
        "reasoning_content": "why",
        "tool_calls": [
            {"id": call.id, "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
        ],
    }
    assert parsed.attempts[0].as_json() == {
        "status": "ok",
        "name": "f",
        "start": parsed.attempts[0].start,
        "end": parsed.attempts[0].end,
    }


def test_call_ids_depend_on_turn_index_and_the_ids_before_the_end_of_the_call() -> None:
    ids = TOKENIZER.encode(hermes_call("f", {}) + "\n" + hermes_call("f", {}))

    def call_ids(ids: list[int], turn: str | int) -> list[str]:
        return [call.id for call in parse_ids("qwen3", ids, turn=turn).tool_calls]

    same, again = call_ids(ids, "t1"), call_ids(ids, "t1")
    assert same == again
    before = TOKENIZER.encode("so\n")
    different = {*same, *call_ids(ids, "t2"), *call_ids([*before, *ids], "t1"), *call_ids(ids, 1)}
    assert len(different) == 8
    assert call_ids([*ids, *before, END], "t1") == same
    assert all(len(call_id) == len("call_") + 24 and call_id.startswith("call_") for call_id in different)
    assert all(set(call_id.removeprefix("call_")) <= set("0123456789abcdef") for call_id in different)


@pytest.mark.parametrize("family", ["qwen3", "qwen35"])
@pytest.mark.parametrize(
    "unit",
    [
        "<tool_call>",
        '<tool_call>\n{"name": "f", "arguments": {"a": "b',
        "<tool_call>\n<function=f>\n<parameter=a>\nb",
        "<tool_call>\n<function=f>\n<parameter=a>\nb\n</parameter>\n",
        '<tool_call>{"a":' + '{"a":' * 50,
        xml_call("f", {"a": "b"}),
        hermes_call("f", {"a": "b"}),
    ],
)
def test_work_grows_with_the_length_of_a_completion_that_repeats_itself(family: str, unit: str) -> None:
    def seconds(count: int) -> float:
        ids = TOKENIZER.encode(unit) * count
        started = time.process_time()
        assert len(parse_ids(family, ids).attempts) == count
        return time.process_time() - started

    seconds(10)
    # Quadratic work would take 64 times as long; half of that leaves room for a busy machine.
    assert min(seconds(1600) for _ in range(4)) < 32 * seconds(200) + 0.2
