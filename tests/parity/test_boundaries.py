"""What an engine leaves plus the suffix are the ids of the whole render: every contract, every vocabulary."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.assets import tokenizer_file
from tests.parity.boundary_check import TRUNCATED, check_boundaries
from tests.parity.natives import ENCODED, NATIVES
from titocli.families.family import Concatenate, Family, Glue, Trim
from titocli.families.registry import all_contracts, get_family
from titocli.tokens.tokenizer import Tokenizer

pytestmark = pytest.mark.assets

COUNT = 100
SEED = 20261129


def _cases() -> list[tuple[Family, str]]:
    """Every contract with each of its vocabularies."""
    named = {key: [one.vocabulary, *one.other_vocabularies.values()] for key, one in NATIVES.items()}
    named |= {key: [vocabulary] for key, vocabulary in ENCODED.items()}
    return [
        (family, vocabulary)
        for family in all_contracts()
        if family.name != "default"
        for vocabulary in named[family.name, family.variant]
    ]


def _tokenizer(vocabulary: str) -> Tokenizer:
    return Tokenizer(tokenizer_file(vocabulary).read_text(encoding="utf-8"), source=vocabulary)


@pytest.mark.parametrize(
    ("family", "vocabulary"),
    _cases(),
    ids=lambda each: each if isinstance(each, str) else f"{each.name}-{each.variant}",
)
def test_what_an_engine_leaves_and_the_suffix_are_the_ids_of_the_whole(
    family: Family, vocabulary: str
) -> None:
    checked = check_boundaries(family, _tokenizer(vocabulary), count=COUNT, seed=SEED)
    assert set(checked) == {*family.stop_tokens, TRUNCATED}
    assert min(checked.values()) > COUNT


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("qwen3", Concatenate()),
        ("minimax_m25", Concatenate()),
        ("qwen3", Glue(after="<|im_end|>", text="\n\n")),
        ("glm47", Concatenate()),
        ("glm47", Trim(tokens=("<|user|>",))),
        ("nemotron3", Concatenate()),
        ("kimi25", Glue(after="<|im_end|>", text="\n")),
        ("deepseekv4", Trim(tokens=("<｜end▁of▁sentence｜>",))),
    ],
)
def test_another_boundary_rule_is_found_out(name: str, wrong: Concatenate | Glue | Trim) -> None:
    family = get_family(name)
    vocabulary = (
        NATIVES[name, family.variant].vocabulary if family.template else ENCODED[name, family.variant]
    )
    with pytest.raises(AssertionError):
        check_boundaries(replace(family, boundary=wrong), _tokenizer(vocabulary), count=20, seed=SEED)
