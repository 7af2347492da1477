"""Every grammar: canonical completions come back, any ids have an answer, work grows with the length."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.families.parsing import SPOKEN, TOKENIZER, calls_of, parse_ids, say, statuses, tool
from tests.families.parsing_ids import IDS, PROMPTS
from titocli.families.parsers.parsed import ReasoningStatus

TOOLS = [
    tool("f", s={"type": "string"}, i={"type": "integer"}, b={"type": "boolean"}),
    tool("g", a={"type": "array"}, o={"type": ["object", "null"]}, x={}),
    tool("now"),
]
LINES = st.lists(
    st.sampled_from(["one", "two  ", "é\u2028", "{}", "<b>", "\n", "\n\n", " ", "天", "<", "</"])
)
#: Text that no template trims.
TEXT = LINES.map("".join).map(str.strip)
CALLS = st.lists(
    st.one_of(
        st.tuples(
            st.just("f"),
            st.fixed_dictionaries({}, optional={"s": TEXT, "i": st.integers(), "b": st.booleans()}),
        ),
        st.tuples(
            st.just("g"),
            st.fixed_dictionaries(
                {},
                optional={
                    "a": st.lists(st.integers() | TEXT),
                    "o": st.none() | st.dictionaries(TEXT, st.booleans()),
                    "x": TEXT,
                },
            ),
        ),
        st.just(("now", {})),
    ),
    max_size=3,
)


@given(st.sampled_from(sorted(SPOKEN)), TEXT, TEXT, CALLS)
def test_what_a_template_writes_is_read(
    name: str, reasoning: str, content: str, calls: list[tuple[str, Any]]
) -> None:
    text = SPOKEN[name].write(reasoning, content, calls)
    parsed = say(name, text, tools=TOOLS)
    assert (parsed.reasoning_content or "", parsed.content) == (reasoning, content)
    assert calls_of(parsed) == calls
    assert [list(json.loads(call.arguments)) for call in parsed.tool_calls] == [list(a) for _, a in calls]
    assert statuses(parsed) == [("ok", call) for call, _ in calls]
    closed = name != "inkling" or bool(reasoning)
    assert parsed.reasoning.status is (ReasoningStatus.CLOSED if closed else ReasoningStatus.ABSENT)


@given(st.sampled_from(sorted(SPOKEN)), IDS, PROMPTS, st.booleans())
def test_any_ids_have_an_answer_whose_spans_are_in_order(
    name: str, ids: list[int], prompt: str, with_tools: bool
) -> None:
    family = SPOKEN[name].family
    parsed = parse_ids(family, ids, generation_prompt=prompt, tools=[tool("f")] if with_tools else [])
    edges = [edge for attempt in parsed.attempts for edge in (attempt.start, attempt.end)]
    assert edges == sorted(edges)
    assert max([*edges, parsed.reasoning.end]) <= len(ids)
    assert parsed.reasoning.start <= parsed.reasoning.end
    assert len(parsed.tool_calls) == sum(attempt.status.called for attempt in parsed.attempts)
    json.dumps(parsed.message(), ensure_ascii=False).encode()
    for call in parsed.tool_calls:
        assert isinstance(json.loads(call.arguments), dict)


@pytest.mark.parametrize("name", sorted(SPOKEN))
def test_spans_cover_the_calls(name: str) -> None:
    calls = [("f", {"s": "é"}), ("now", {})]
    text = SPOKEN[name].write("why", "so", calls)
    ids = TOKENIZER.encode(text)
    parsed = say(name, text)
    spelled = [TOKENIZER.decode(ids[attempt.start : attempt.end]) for attempt in parsed.attempts]
    assert ["é" in source for source in spelled] == [True, False]
    assert ["now" in source for source in spelled] == [False, True]
    for source in spelled:
        assert source[0] == "<"
        assert source[-1] == ">"
        assert source in text


@pytest.mark.parametrize("name", sorted(set(SPOKEN) - {"inkling"}))
def test_a_completion_without_the_closing_tag_is_reasoning(name: str) -> None:
    parsed = say(name, "why\n\nso")
    assert (parsed.reasoning_content, parsed.content) == ("why\n\nso", "")
    assert parsed.reasoning.status is ReasoningStatus.UNCLOSED


@pytest.mark.parametrize("name", sorted(SPOKEN))
def test_a_tool_that_was_not_offered_is_called_and_marked(name: str) -> None:
    text = SPOKEN[name].write("why", "so", [("f", {}), ("g", {})])
    parsed = say(name, text, tools=[tool("g")])
    assert statuses(parsed) == [("unknown_tool", "f"), ("ok", "g")]
    assert [call for call, _ in calls_of(parsed)] == ["f", "g"]


@pytest.mark.parametrize("name", sorted(SPOKEN))
@pytest.mark.parametrize("cut", [1, 2, 5, 9])
def test_a_completion_that_was_cut_keeps_the_unclosed_call_as_content(name: str, cut: int) -> None:
    whole = SPOKEN[name].write("why", "so", [("f", {"s": "x"})]).rstrip("\n")
    parsed = say(name, whole[:-cut])
    assert parsed.tool_calls == ()
    assert statuses(parsed) == [("unclosed", "f")]
    start = whole.index("so") + len("so")
    assert parsed.content in {
        f"so{whole[start:-cut]}",
        f"so{whole[start:-cut].removeprefix('<|end_message|>')}",
    }


@pytest.mark.parametrize("name", sorted(SPOKEN))
@pytest.mark.parametrize("end", [1, 3, -12, -1, None])
def test_work_grows_with_the_length_of_a_completion_that_repeats_itself(name: str, end: int | None) -> None:
    spoken = SPOKEN[name]
    both = spoken.write("r", "", [("f", {"s": "x y", "i": 1})])
    first = spoken.write("r", "", [])
    call = both[len(first) :]
    unit = call[: len(call) * end // 4] if end in {1, 3} else call[:end]

    def seconds(count: int) -> float:
        ids = TOKENIZER.encode(first + unit * count)
        started = time.process_time()
        parse_ids(spoken.family, ids, generation_prompt=spoken.prompt)
        return time.process_time() - started

    seconds(10)
    # Quadratic work would take 64 times as long; half of that leaves room for a busy machine.
    assert min(seconds(1600) for _ in range(4)) < 32 * seconds(200) + 0.2
