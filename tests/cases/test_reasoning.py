"""Reported cases about reasoning: a14, a15, a16."""

from __future__ import annotations

import pytest

from tests.cases.rendering import CONTRACTS, LABELS, assistant, text_of, user
from titocli.families.family import ReasoningGrammar

TAGGED = [
    label
    for label in LABELS
    if CONTRACTS[label].parsers.reasoning in {ReasoningGrammar.THINK_TAGS, ReasoningGrammar.THINK_TAGS_TIGHT}
]
MENTION = "it is </think>, mostly"
INLINE = "<think>\nplan\n</think>\n\nso"


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("reasoning", ["", "hm"])
def test_a14_an_answer_that_mentions_a_tag_stays_whole_beside_given_reasoning(
    label: str, reasoning: str
) -> None:
    text = text_of(label, [user("which tag?"), assistant(MENTION, reasoning_content=reasoning), user("ok")])

    assert MENTION in text


@pytest.mark.parametrize("label", TAGGED)
def test_a15_reasoning_in_tags_is_printed_once(label: str) -> None:
    text = text_of(label, [user("q"), assistant(INLINE), user("r")])

    assert text == text_of(label, [user("q"), assistant("so", reasoning_content="plan"), user("r")])
    assert text.count("<think>") == text.count("</think>") == text.count("plan") == 1


@pytest.mark.parametrize("label", TAGGED)
def test_a15_the_same_reasoning_in_both_places_is_printed_once(label: str) -> None:
    text = text_of(label, [user("q"), assistant(INLINE, reasoning_content="plan"), user("r")])

    assert text == text_of(label, [user("q"), assistant("so", reasoning_content="plan"), user("r")])


@pytest.mark.parametrize("label", LABELS)
def test_a15_another_reasoning_counts_and_the_answer_stays_whole(label: str) -> None:
    text = text_of(label, [user("q"), assistant(INLINE, reasoning_content="other"), user("r")])

    assert "other" in text
    assert INLINE in text


@pytest.mark.parametrize("label", LABELS)
def test_a16_the_name_that_has_text_counts(label: str) -> None:
    def text(**names: str) -> str:
        return text_of(label, [user("q"), assistant("a", **names), user("r")])

    wanted = text(reasoning_content="as planned")
    assert "as planned" in wanted
    assert text(reasoning="as planned") == wanted
    assert text(reasoning="as planned", reasoning_content="") == wanted
    assert text(reasoning="ignored", reasoning_content="as planned") == wanted
