"""Streams: any cut of any ids gives the whole parse, and text is given as soon as it is certain."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.families.parsing import MERGING, SPOKEN, TOKENIZER, id_of, parse_ids, tool
from tests.families.parsing_ids import IDS, PROMPTS
from titocli.families.family import Family
from titocli.families.parsers.parsed import ParsedCompletion
from titocli.families.parsers.streaming import (
    ContentDelta,
    Delta,
    ReasoningDelta,
    StreamingParser,
    ToolCallDelta,
)
from titocli.families.registry import get_family

FAMILIES = {**{name: spoken.family for name, spoken in SPOKEN.items()}, "default": get_family("default")}


def _parser(
    family: Family, prompt: str, tools: Sequence[Any] = (), tokenizer: Any = TOKENIZER
) -> StreamingParser:
    return StreamingParser(family, tokenizer, prompt, tools, "t")


def _reasoning(deltas: Sequence[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta))


def _content(deltas: Sequence[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, ContentDelta))


def _assert_are(deltas: Sequence[Delta], whole: ParsedCompletion) -> None:
    assert _reasoning(deltas) == (whole.reasoning_content or "")
    assert _content(deltas) == whole.content
    calls = [delta for delta in deltas if isinstance(delta, ToolCallDelta)]
    assert tuple(delta.call for delta in calls) == whole.tool_calls
    assert [delta.index for delta in calls] == list(range(len(calls)))
    assert all(delta.text for delta in deltas if not isinstance(delta, ToolCallDelta))


def _assert_begin(deltas: Sequence[Delta], whole: ParsedCompletion) -> None:
    assert (whole.reasoning_content or "").startswith(_reasoning(deltas))
    assert whole.content.startswith(_content(deltas))
    calls = tuple(delta.call for delta in deltas if isinstance(delta, ToolCallDelta))
    assert whole.tool_calls[: len(calls)] == calls


@given(
    st.sampled_from(sorted(FAMILIES)),
    IDS,
    PROMPTS,
    st.booleans(),
    st.sampled_from([TOKENIZER, MERGING]),
    st.lists(st.integers(0, 400), max_size=6),
)
@example(
    "qwen35",
    TOKENIZER.encode(
        "<tool_call><function=f><parameter=a>\nx</parameter></function></tool_call>"
        "\n</parameter>\n</function>\n</tool_call>"
    ),
    "",
    False,
    TOKENIZER,
    [],
)
def test_any_cut_of_any_ids_gives_the_whole_parse(
    name: str, ids: list[int], prompt: str, with_tools: bool, tokenizer: Any, cuts: list[int]
) -> None:
    tools = [tool("f", a={"type": "integer"})] if with_tools else []
    family = FAMILIES[name]
    whole = parse_ids(family, ids, generation_prompt=prompt, tools=tools, tokenizer=tokenizer)
    one_by_one, in_pieces = (_parser(family, prompt, tools, tokenizer) for _ in range(2))
    singles = [delta for token_id in ids for delta in one_by_one.feed([token_id])]
    edges = [0, *sorted(min(cut, len(ids)) for cut in cuts), len(ids)]
    pieces = [delta for start, end in pairwise(edges) for delta in in_pieces.feed(ids[start:end])]
    for parser, deltas in ((one_by_one, singles), (in_pieces, pieces)):
        _assert_begin(deltas, whole)
        _assert_are([*deltas, *parser.flush()], whole)
        assert parser.finish() == whole


@pytest.mark.parametrize("name", sorted(SPOKEN))
def test_text_and_calls_are_given_while_the_completion_grows(name: str) -> None:
    spoken = SPOKEN[name]
    ids = TOKENIZER.encode(spoken.write("why so", "because é", [("f", {"s": "x"}), ("g", {})]))
    parser = _parser(spoken.family, spoken.prompt)
    deltas = [(count, delta) for count, each in enumerate(ids, 1) for delta in parser.feed([each])]
    assert parser.flush() == ()
    _assert_are([delta for _, delta in deltas], parser.finish())
    # A character of text is held back for no longer than a tag and the newlines around it.
    assert len([delta for _, delta in deltas if isinstance(delta, ReasoningDelta)]) > 4
    assert len([delta for _, delta in deltas if isinstance(delta, ContentDelta)]) > 6
    last_text = max(count for count, delta in deltas if isinstance(delta, ContentDelta))
    first_call = min(count for count, delta in deltas if isinstance(delta, ToolCallDelta))
    assert last_text < first_call


@pytest.mark.parametrize("name", ["qwen3", "glm", "nemotron", "inkling"])
def test_the_first_call_is_given_before_the_second_one_begins(name: str) -> None:
    spoken = SPOKEN[name]
    calls = [("f", {"s": "x"}), ("g", {})]
    first, both = (spoken.write("why", "so", calls[:count]) for count in (1, 2))
    assert both.startswith(first)
    parser = _parser(spoken.family, spoken.prompt)
    (call,) = [each for each in parser.feed(TOKENIZER.encode(first)) if isinstance(each, ToolCallDelta)]
    (second,) = parser.feed(TOKENIZER.encode(both.removeprefix(first)))
    assert isinstance(second, ToolCallDelta)
    assert [call.call, second.call] == list(parser.finish().tool_calls)


def test_a_stop_token_is_text_only_when_more_follows() -> None:
    family = get_family("qwen3")
    end = id_of("<|im_end|>")
    parser = _parser(family, "")
    assert parser.feed([*b"a", end]) == (ContentDelta("a"),)
    assert parser.feed([end, *b"b"]) == (ContentDelta("<|im_end|><|im_end|>b"),)
    assert parser.feed([end]) == ()
    assert parser.flush() == ()


def test_a_character_is_given_when_it_is_whole() -> None:
    parser = _parser(get_family("qwen3"), "")
    first, second = "é".encode()
    assert parser.feed([first]) == ()
    assert parser.feed([second]) == (ContentDelta("é"),)
    assert parser.feed([first]) == ()
    assert parser.flush() == (ContentDelta("\ufffd"),)


@pytest.mark.parametrize("name", sorted(SPOKEN))
@pytest.mark.parametrize("calls", [[], [("f", {"s": "x" * 100})], [("f", {"s": "</tool_call>" * 9})]])
def test_work_grows_with_the_length_of_what_is_fed(name: str, calls: list[Any]) -> None:
    spoken = SPOKEN[name]

    def seconds(size: int) -> float:
        longer = [(call, {"s": arguments["s"] * size}) for call, arguments in calls]
        ids = TOKENIZER.encode(spoken.write("why " * 20 * size, "so\n" * 20 * size, longer))
        parser = _parser(spoken.family, spoken.prompt)
        started = time.process_time()
        for token_id in ids:
            parser.feed([token_id])
        return time.process_time() - started

    seconds(1)
    # Quadratic work would take 64 times as long; half of that leaves room for a busy machine.
    assert min(seconds(160) for _ in range(4)) < 32 * seconds(20) + 0.2
