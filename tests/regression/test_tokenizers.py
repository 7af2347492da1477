"""Tokenizers that spell a text otherwise when it stands alone."""

from __future__ import annotations

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, decoders, models, normalizers

from titocli.errors import UnfitTokenizer
from titocli.families.chat_template import compile_template
from titocli.families.family import Family
from titocli.families.renderer import Renderer
from titocli.families.template_source import TemplateSource
from titocli.tokens.tokenizer import Tokenizer

#: Roles as plain text, as Zephyr's template has them: nothing but ``<s>`` is a token of its own.
TEMPLATE = (
    "<s>{% for m in messages %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
LETTERS = "abcdefghijklmnopqrstuvwxyz</>s "


def sentencepiece(merges: list[tuple[str, str]]) -> Tokenizer:
    """Single letters and ``merges``, with SentencePiece's mark before whatever is encoded."""
    pieces = ["<unk>", "\u2581", *LETTERS.replace(" ", ""), *(left + right for left, right in merges)]
    vocabulary = {piece: at for at, piece in enumerate(dict.fromkeys(pieces))}
    own = tokenizers.Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>"))  # noqa: S106 - no password
    own.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    own.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.Fuse()])
    own.add_special_tokens([AddedToken("<s>", normalized=False)])
    return Tokenizer(own.to_str(), source="sentencepiece")


def renderer(merges: list[tuple[str, str]]) -> Renderer:
    family = Family(name="toy", summary="")
    return Renderer(family, compile_template(TemplateSource("toy", TEMPLATE)), sentencepiece(merges))


@pytest.mark.regression("R9")
@given(st.text("abc <", max_size=12), st.text("abc <", min_size=1, max_size=12))
def test_a_suffix_that_starts_with_an_angle_bracket_has_the_ids_of_the_whole_text(
    said: str, asked: str
) -> None:
    own = renderer([("\u2581", "<"), ("a", "b")])
    history = [{"role": "user", "content": "a"}, {"role": "assistant", "content": said}]
    new = [{"role": "user", "content": asked}]
    before = own.text(history, kwargs={}, generation_prompt=False)
    whole = own.text([*history, *new], kwargs={}, generation_prompt=True)
    suffix = own.suffix(new, history=history, kwargs={})

    assert suffix.text == whole[len(before) :] == f"<user>{asked}</user><assistant>"
    assert list(suffix.ids) == own.tokenizer.encode(whole)[len(own.tokenizer.encode(before)) :]
    # Alone the text would be another: the mark and the bracket are one token.
    assert list(suffix.ids) != own.tokenizer.encode(suffix.text)


@pytest.mark.regression("R9")
def test_a_tokenizer_that_joins_the_end_of_a_turn_with_the_next_is_refused() -> None:
    joining = renderer([(">", "<")])
    history = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]

    with pytest.raises(UnfitTokenizer, match="changes the ids before it"):
        joining.suffix([{"role": "user", "content": "c"}], history=history, kwargs={})
