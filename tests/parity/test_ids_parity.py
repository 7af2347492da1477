"""titocli's tokenizer gives transformers' ids for rendered conversations, with the real vocabularies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from transformers import PreTrainedTokenizerFast

from tests.assets import qwen3_tokenizer, qwen35_tokenizer
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

_VOCABULARY_OF: dict[str, Callable[[], Path]] = {
    "qwen3": qwen3_tokenizer,
    "qwennext": qwen3_tokenizer,
    "qwen35": qwen35_tokenizer,
    "qwen36": qwen35_tokenizer,
    "qwen38small": qwen35_tokenizer,
    "qwen4exp": qwen35_tokenizer,
}


def _texts(family: Family, renderer: Renderer) -> Iterator[str]:
    for conversation in generate(family, COUNT, SEED):
        yield renderer.text(
            normalise_messages(family, conversation.messages),
            tools=normalise_tools(conversation.tools),
            kwargs=resolve_kwargs(family, conversation.kwargs),
            generation_prompt=True,
        )


@pytest.mark.parametrize("vocabulary", [qwen3_tokenizer, qwen35_tokenizer])
def test_ids_of_rendered_conversations_are_transformers_ids(vocabulary: Callable[[], Path]) -> None:
    path = vocabulary()
    ours = Tokenizer(path.read_text(encoding="utf-8"), source=path.name)
    theirs = PreTrainedTokenizerFast(tokenizer_file=str(path))
    for name in [name for name, used in _VOCABULARY_OF.items() if used is vocabulary]:
        family = get_family(name)
        # A renderer with the tokenizer checks that it has every token that the family needs.
        for text in _texts(family, family_renderer(family, ours)):
            assert ours.encode(text) == theirs(text, add_special_tokens=False).input_ids
