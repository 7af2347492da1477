"""The tokenizer: bytes, threads, added tokens."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from titocli.tokens.byte_level import byte_level_tokenizer
from titocli.tokens.bytes import BYTE_ALPHABET, bytes_of_token, token_of_bytes
from titocli.tokens.ids import token_ids

TOKENIZER = byte_level_tokenizer(["<|im_start|>", "<think>"], special={"<|im_start|>"})


@given(st.text())
def test_text_comes_back_from_its_ids(text: str) -> None:
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == text


@given(st.lists(st.integers(0, 257)))
def test_the_bytes_of_ids_are_the_bytes_of_their_text(ids: list[int]) -> None:
    spelled = b"".join(TOKENIZER.token_bytes(i) for i in ids)

    assert TOKENIZER.decode(ids) == spelled.decode(errors="replace")


@given(st.binary())
def test_bytes_have_a_spelling_and_come_back_from_it(data: bytes) -> None:
    assert bytes_of_token(token_of_bytes(data)) == data


def test_the_byte_alphabet_is_the_one_of_byte_level_bpe() -> None:
    assert len(set(BYTE_ALPHABET)) == 256
    assert (BYTE_ALPHABET[ord("A")], BYTE_ALPHABET[ord(" ")], BYTE_ALPHABET[ord("\n")]) == ("A", "Ġ", "Ċ")


def test_control_tokens_in_text_are_single_ids() -> None:
    assert TOKENIZER.encode("<|im_start|>a<think>") == [256, ord("a"), 257]
    assert TOKENIZER.special_ids == {256}
    assert TOKENIZER.vocab_size == 258
    assert (TOKENIZER.token_id("<think>"), TOKENIZER.token_id("<no such token>")) == (257, None)
    assert TOKENIZER.token_bytes(9999) == b""


def test_the_last_added_token_is_found_and_none_is_the_beginning() -> None:
    assert TOKENIZER.last_added_token("a<think>b<|im_start|>c") == len("a<think>b")
    assert TOKENIZER.last_added_token("plain") == 0


def test_threads_encode_at_the_same_time() -> None:
    texts = [f"<|im_start|>user {number}\n" * 20 for number in range(64)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(TOKENIZER.encode, texts)) == [TOKENIZER.encode(text) for text in texts]


def test_ids_are_kept_in_four_bytes() -> None:
    assert token_ids([1, 2]).itemsize == 4
