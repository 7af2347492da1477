"""The byte-level tokenizer."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine_embedded.requests import TOKENIZER
from titocli.families import chatml
from titocli.families.registry import BUILT_IN
from titocli.families.tiny import tiny_tokenizer
from titocli.tokens.byte_level import byte_level_tokenizer


def test_ids_are_bytes_and_then_the_given_tokens_in_order() -> None:
    tokenizer = byte_level_tokenizer(["<b>", "<a>"], special={"<a>"})
    assert tokenizer.vocab_size == 258
    assert [tokenizer.token_bytes(token_id) for token_id in range(256)] == [bytes((b,)) for b in range(256)]
    assert (tokenizer.token_id("<b>"), tokenizer.token_id("<a>")) == (256, 257)
    assert tokenizer.special_ids == {257}
    assert tokenizer.encode("x<a>é\n<b>") == [0x78, 257, 0xC3, 0xA9, 0x0A, 256]


@settings(deadline=None)
@given(st.text().filter(lambda text: not any(token in text for token in chatml.REQUIRED_TOKENS)))
def test_every_text_without_a_control_token_is_its_utf8_bytes(text: str) -> None:
    assert TOKENIZER.encode(text) == list(text.encode())
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == text


def test_every_family_has_its_tokens_and_only_control_tokens_are_special() -> None:
    for family in BUILT_IN.values():
        tokenizer = tiny_tokenizer(family)
        for token in family.required_tokens:
            token_id = tokenizer.token_id(token)
            assert token_id is not None
            assert tokenizer.encode(token) == [token_id]
            assert (token_id in tokenizer.special_ids) == token.startswith("<|")
