"""The newlines around reasoning, by layout."""

from __future__ import annotations

import pytest

from tests.families.parsing import SPOKEN, TOKENIZER, UNOPENED, say
from titocli.families.parsers.streaming import ReasoningDelta, StreamingParser

TIGHT, SPACED, LINES, HEADED = "kimi", "minimax", "nemotron", "nemotron_ultra"


@pytest.mark.parametrize(
    ("name", "text", "reasoning", "content"),
    [
        (TIGHT, "why</think>so", "why", "so"),
        (TIGHT, "\nwhy\n</think>\n\nso", "\nwhy\n", "\n\nso"),
        (TIGHT, "</think>so", None, "so"),
        (TIGHT, "\n</think>so", "\n", "so"),
        (SPACED, "why\n</think>\n\nso", "why", "so"),
        (SPACED, "\nwhy\n\n</think>\n\n\nso", "\nwhy\n", "\nso"),
        (SPACED, "why</think>so", "why", "so"),
        (SPACED, "\n</think>\n\nso", None, "so"),
        (LINES, "why\n</think>\nso", "why", "so"),
        (LINES, "\nwhy\n\n</think>\n\nso", "\nwhy\n", "\nso"),
        (LINES, "why</think>so", "why", "so"),
        (HEADED, "why</think>so", "why", "so"),
        (HEADED, "\nwhy\n</think>\nso", "\nwhy\n", "\nso"),
    ],
)
def test_only_the_newlines_of_the_template_are_no_text(
    name: str, text: str, reasoning: str | None, content: str
) -> None:
    parsed = say(name, text)
    assert (parsed.reasoning_content, parsed.content) == (reasoning, content)


@pytest.mark.parametrize(("name", "head"), [(TIGHT, ""), (SPACED, "\n"), (LINES, "\n"), (HEADED, "\n")])
def test_a_block_that_the_model_opens_has_the_newline_of_the_template(name: str, head: str) -> None:
    for prompt, tag in ((UNOPENED, "<think>"), ("<think>", "")):
        parsed = say(name, f"{tag}{head}\nwhy</think>so", generation_prompt=prompt)
        assert (parsed.reasoning_content, parsed.content) == ("\nwhy", "so")


def test_a_stream_waits_for_the_newline_after_the_tag() -> None:
    parser = StreamingParser(SPOKEN[LINES].family, TOKENIZER, UNOPENED, [], 0)
    pieces = ["<think>", "\n", "why", "</think>"]
    deltas = [delta for piece in pieces for delta in parser.feed(TOKENIZER.encode(piece))]
    assert deltas == [ReasoningDelta("why")]


@pytest.mark.parametrize("name", [TIGHT, SPACED, LINES, HEADED])
@pytest.mark.parametrize("prompt", ["<think></think>", "</think>", "<think>\n\n</think>\n\n"])
def test_a_prompt_that_closed_the_block_leaves_content_alone(name: str, prompt: str) -> None:
    parsed = say(name, "\nwhy</think>so", generation_prompt=prompt)
    assert (parsed.reasoning_content, parsed.content) == (None, "\nwhy</think>so")
