"""A tokenizer of another family is refused, with what it lacks."""

from __future__ import annotations

from itertools import permutations

import pytest

from titocli.errors import UnfitTokenizer
from titocli.families.fitness import refuse_unfit
from titocli.families.registry import BUILT_IN
from titocli.families.tiny import tiny_tokenizer

NAMES = [name for name, family in BUILT_IN.items() if family.required_tokens]


@pytest.mark.parametrize("name", NAMES)
def test_a_family_takes_its_own_tokenizer(name: str) -> None:
    tokenizer = tiny_tokenizer(BUILT_IN[name])
    refuse_unfit(BUILT_IN[name], tokenizer)
    assert None not in map(tokenizer.token_id, BUILT_IN[name].required_tokens)


@pytest.mark.parametrize(("name", "other"), list(permutations(NAMES, 2)))
def test_a_foreign_tokenizer_is_refused_with_every_missing_token(name: str, other: str) -> None:
    family, theirs = BUILT_IN[name], tiny_tokenizer(BUILT_IN[other])
    missing = [token for token in family.required_tokens if token not in BUILT_IN[other].required_tokens]
    if not missing:
        refuse_unfit(family, theirs)
        return

    with pytest.raises(UnfitTokenizer) as refused:
        refuse_unfit(family, theirs)
    assert refused.value.details == {"missing_tokens": missing, "family": name}
    assert all(token in refused.value.message for token in missing)
