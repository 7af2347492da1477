"""Reported cases about where turns meet: a31, b06, b10, b23, b25."""

from __future__ import annotations

import pytest

from tests.cases.rendering import (
    CONTRACTS,
    LABELS,
    NAMED,
    assistant,
    call,
    renderer_of,
    result,
    suffix_of,
    text_of,
    user,
)
from titocli.families.family import Glue, Trim

CALLS = [call(number=0, arguments={"i": 0}), call(number=1, arguments={"i": 1})]
CALLED = [user("u"), assistant("", call(arguments={}), reasoning_content="r")]
BEGINNINGS = ("[gMASK]", "]~!b[", "<｜begin▁of▁sentence｜>")


@pytest.mark.parametrize("label", LABELS)
def test_a31_a_text_begins_once(label: str) -> None:
    renderer = renderer_of(label)
    text = text_of(label, [user("hi"), assistant("a"), user("v")], prompt=True)
    decoded = renderer.tokenizer.decode(renderer.ids(text))

    for beginning in BEGINNINGS:
        assert decoded.count(beginning) == int(decoded.startswith(beginning))
        assert beginning not in suffix_of(label, CALLED, [result("t"), user("v")])


@pytest.mark.parametrize("label", LABELS)
def test_b06_the_newline_after_a_stop_token_is_there_once(label: str) -> None:
    family, renderer = CONTRACTS[label], renderer_of(label)
    stop = renderer.tokenizer.token_id(family.stop_tokens[0])
    joint = renderer.boundary.joint(stop)

    glue = renderer.tokenizer.decode(joint.glue)
    assert glue == ("\n" if isinstance(family.boundary, Glue) else "")
    assert not suffix_of(label, CALLED, [result("t")]).startswith("\n") or family.name == "deepseekv32"
    closed = renderer.tokenizer.decode(renderer.boundary.joint(10).glue)
    assert closed == ("" if isinstance(family.boundary, Trim) else family.stop_tokens[0] + glue)


@pytest.mark.parametrize("label", LABELS)
def test_b10_results_of_parallel_calls_are_appended_as_one_run(label: str) -> None:
    history = [user("u"), assistant("", *CALLS, reasoning_content="r")]
    results = [result("r0", number=0), result("r1", number=1)]
    whole = text_of(label, [*history, *results], prompt=True)

    assert whole == text_of(label, history) + suffix_of(label, history, results)
    assert whole.index("r0") < whole.index("r1")


@pytest.mark.parametrize("family", ["deepseekv4", "deepseekv41"])
def test_b23_a_question_after_a_result_is_in_the_same_turn(family: str) -> None:
    label = NAMED[family]
    suffix = suffix_of(label, CALLED, [result("R1"), user("and then?")])

    assert suffix.count("<｜User｜>") == 1
    assert suffix.index("R1") < suffix.index("and then?")
    assert text_of(label, CALLED) + suffix == text_of(
        label, [*CALLED, result("R1"), user("and then?")], prompt=True
    )


#: The suffix of one result, to the letter.
SUFFIXES = {
    "qwen3": "<|im_start|>user\n<tool_response>\nt\n</tool_response><|im_end|>\n<|im_start|>assistant\n",
    "qwen35": "<|im_start|>user\n<tool_response>\nt\n</tool_response><|im_end|>\n<|im_start|>assistant\n<think>\n",
    "qwen36": "<|im_start|>user\n<tool_response>\nt\n</tool_response><|im_end|>\n<|im_start|>assistant\n<think>\n",
    "glm47": "<|observation|><tool_response>t</tool_response><|assistant|><think>",
    "nemotron3": "<|im_start|>user\n<tool_response>\nt\n</tool_response>\n<|im_end|>\n<|im_start|>assistant\n<think>\n",
    "kimi25": "<|im_system|>tool<|im_middle|>## Return of functions.f:0\nt<|im_end|><|im_assistant|>assistant<|im_middle|><think>",
    "minimax_m25": "]~b]tool\n<response>t</response>[e~[\n]~b]ai\n<think>\n",
    "inkling": "<|message_tool|>f<|content_text|>t<|end_message|><|message_model|>",
    "deepseekv32": "\n\n<function_results>\n<result>t</result>\n</function_results>\n\n<think>",
}


@pytest.mark.parametrize("family", [family for family in SUFFIXES if family in NAMED])
def test_b25_the_suffix_of_a_result_is_that_and_nothing_else(family: str) -> None:
    assert suffix_of(NAMED[family], CALLED, [result("t")]) == SUFFIXES[family]
