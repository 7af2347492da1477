"""The small vocabulary of random walks, in which every text can be cut into tokens in many ways."""

from __future__ import annotations

from functools import cache

import tokenizers
from tokenizers import AddedToken, decoders, models, pre_tokenizers, trainers

from titocli.families.registry import get_family
from titocli.families.renderer import Renderer, family_renderer
from titocli.tokens.tokenizer import Tokenizer

WORDS = ("the ", "weather ", "in ", "Köln ", "is ", "fine", "? ", "日本", "🙂 ", "\n\n", "  ", "x=1;", "été ")


@cache
def renderer_of(name: str) -> Renderer:
    """The family with a small vocabulary of bytes, pieces of ``WORDS``, and its control tokens."""
    family = get_family(name)
    own = tokenizers.Tokenizer(models.BPE())
    own.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    own.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    own.train_from_iterator([word * 3 for word in WORDS] * 5, trainer)
    control = family.required_tokens
    own.add_tokens([AddedToken(text, special=text.startswith("<|"), normalized=False) for text in control])
    return family_renderer(family, Tokenizer(own.to_str(), source="walk"))


@cache
def pieces_of(name: str) -> dict[bytes, int]:
    """The id of each token that stands for text, by its bytes."""
    tokenizer = renderer_of(name).tokenizer
    control = {tokenizer.token_id(text) for text in get_family(name).required_tokens}
    return {tokenizer.token_bytes(i): i for i in range(tokenizer.vocab_size) if i not in control}


__all__ = ["WORDS", "pieces_of", "renderer_of"]
