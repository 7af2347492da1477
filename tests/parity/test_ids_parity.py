"""titocli's tokenizer gives transformers' ids for rendered conversations, with every vocabulary at hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from transformers import PreTrainedTokenizerFast

from tests.assets import TOKENIZER_NAMES, tokenizer_file
from tests.parity.natives import ENCODED, NATIVES
from titocli.families.family import Family
from titocli.families.kwargs import resolve_kwargs
from titocli.families.messages import normalise_messages, normalise_tools
from titocli.families.registry import get_family
from titocli.families.renderer import Renderer, family_renderer
from titocli.tokens.tokenizer import Tokenizer
from titocli.verify.conversations import generate

pytestmark = pytest.mark.assets

COUNT = 300
SEED = 5

_VOCABULARY_OF = {**{named: native.vocabulary for named, native in NATIVES.items()}, **ENCODED}


def _texts(family: Family, renderer: Renderer) -> Iterator[str]:
    for conversation in generate(family, COUNT, SEED):
        yield renderer.text(
            normalise_messages(family, conversation.messages),
            tools=normalise_tools(conversation.tools),
            kwargs=resolve_kwargs(family, conversation.kwargs),
            generation_prompt=True,
        )


def test_every_vocabulary_at_hand_belongs_to_a_contract() -> None:
    assert set(_VOCABULARY_OF.values()) == set(TOKENIZER_NAMES)


@pytest.mark.parametrize("vocabulary", TOKENIZER_NAMES)
def test_ids_of_rendered_conversations_are_transformers_ids(vocabulary: str) -> None:
    path = tokenizer_file(vocabulary)
    ours = Tokenizer(path.read_text(encoding="utf-8"), source=path.name)
    theirs = PreTrainedTokenizerFast(tokenizer_file=str(path))
    for named in [named for named, used in _VOCABULARY_OF.items() if used == vocabulary]:
        family = get_family(*named)
        # A renderer with the tokenizer checks that it has every token that the family needs.
        for text in _texts(family, family_renderer(family, ours)):
            assert ours.encode(text) == theirs(text, add_special_tokens=False).input_ids
