"""The comparator of token sequences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from titocli.tokens.byte_level import byte_level_tokenizer
from titocli.tokens.comparator import Comparator, MismatchType

TOKENIZER = byte_level_tokenizer(
    ["<|im_start|>", "<|im_end|>", "<think>"], special={"<|im_start|>", "<|im_end|>"}
)
START, END, THINK = 256, 257, 258
COMPARATOR = Comparator(
    tokenizer=TOKENIZER,
    special_ids=TOKENIZER.special_ids,
    trailing_ids=frozenset({10}),
    assistant_start="<|im_start|>assistant",
)


def ids(text: str) -> list[int]:
    return TOKENIZER.encode(text)


def types(expected: list[int], actual: list[int]) -> list[MismatchType]:
    return [mismatch.type for mismatch in COMPARATOR.compare(expected=expected, actual=actual)]


TURN = "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nyes<|im_end|>"


def test_equal_sequences_and_trailing_newlines_are_no_mismatch() -> None:
    assert types(ids(TURN), ids(TURN)) == []
    assert types(ids(TURN + "\n"), ids(TURN)) == types(ids(TURN), ids(TURN + "\n\n")) == []


def test_other_ids_for_the_same_text_are_no_mismatch() -> None:
    spelled = [*ids("<|im_start|>assistant\n"), *b"<think>", END]

    assert spelled != ids("<|im_start|>assistant\n<think><|im_end|>")
    assert types(ids("<|im_start|>assistant\n<think><|im_end|>"), spelled) == []


def test_an_extra_special_token_is_one_hard_mismatch_of_the_whole() -> None:
    (mismatch,) = COMPARATOR.compare(expected=ids(TURN), actual=[*ids(TURN), END])

    assert (mismatch.type, mismatch.segment_index) == (MismatchType.SPECIAL_TOKEN_COUNT, -1)
    assert mismatch.detail == "segment count differs: expected 7, got 8"


def test_the_same_number_of_segments_in_another_pattern_is_told_apart() -> None:
    (mismatch,) = COMPARATOR.compare(expected=[START, 65], actual=[65, START])

    assert mismatch.detail == "segment structure (special/content pattern) differs"


def test_another_special_token_is_a_hard_mismatch_in_its_place() -> None:
    (mismatch,) = COMPARATOR.compare(expected=[START, 65, END], actual=[START, 65, START])

    assert (mismatch.type, mismatch.segment_index) == (MismatchType.SPECIAL_TOKEN_TYPE, 2)
    assert (mismatch.expected_text, mismatch.actual_text) == ("<|im_end|>", "<|im_start|>")


def test_text_of_the_assistant_is_soft_and_all_other_text_hard() -> None:
    soft = types(ids(TURN), ids(TURN.replace("yes", "no")))
    hard = types(ids(TURN), ids(TURN.replace("hi", "ho")))

    assert (soft, hard) == ([MismatchType.ASSISTANT_TEXT], [MismatchType.NON_ASSISTANT_TEXT])
    assert [MismatchType(kind).hard for kind in (*soft, *hard)] == [False, True]


def test_without_an_assistant_start_nothing_is_soft() -> None:
    strict = Comparator(tokenizer=TOKENIZER, special_ids=TOKENIZER.special_ids)
    (mismatch,) = strict.compare(expected=ids(TURN), actual=ids(TURN.replace("yes", "no")))

    assert mismatch.type is MismatchType.NON_ASSISTANT_TEXT


def test_a_role_changed_to_the_assistants_is_hard() -> None:
    changed = ids(TURN.replace("user\nhi", "assistant\nhi"))

    assert types(ids(TURN), changed) == [MismatchType.NON_ASSISTANT_TEXT]


@pytest.mark.parametrize("sequence", [[], [10], [END], [65]])
def test_short_sequences_compare_with_themselves(sequence: list[int]) -> None:
    assert types(sequence, sequence) == []


SEQUENCES = st.lists(st.sampled_from([65, 66, 10, START, END, THINK]), max_size=12)


@given(SEQUENCES, SEQUENCES)
def test_a_mismatch_is_reported_exactly_when_the_texts_differ(one: list[int], other: list[int]) -> None:
    def said(sequence: list[int]) -> str:
        return TOKENIZER.decode(sequence).rstrip("\n")

    assert (types(one, other) == []) == (said(one) == said(other))
