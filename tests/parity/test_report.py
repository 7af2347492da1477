"""The parity report covers every registered contract, and the written one shows no difference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.assets.tokenizers import APPROXIMATE
from tests.parity.contract_parity import values_not_generated
from tests.parity.natives import ENCODED, NATIVES
from tests.parity.references import Prompt, other_reference
from tests.parity.report import NOT_CLAIMED, PAGE, SEED, checkpoints_of, compare, rows_of
from titocli.families.family import Family
from titocli.families.registry import all_contracts, get_family
from titocli.families.renderer import family_renderer
from titocli.verify.conversations import generate

CONTRACTS = [family for family in all_contracts() if family.name != "default"]


def _named(family: Family) -> tuple[str, str | None]:
    return family.name, family.variant


def test_every_contract_has_something_to_be_compared_with() -> None:
    assert {*NATIVES, *ENCODED} == set(map(_named, CONTRACTS))
    assert not NATIVES.keys() & ENCODED.keys()


def test_the_written_table_has_the_registered_contracts_and_their_checkpoints() -> None:
    expected = [
        (family.name, family.variant or "", ", ".join(checkpoints_of(family, vocabulary)), vocabulary)
        for family in CONTRACTS
        for _ in range(2 if _named(family) in NATIVES else 1)
        for vocabulary in _vocabularies(family)
    ]
    assert [(*row[:3], row[7]) for row in rows_of(PAGE.read_text())] == expected


def _vocabularies(family: Family) -> list[str]:
    native = NATIVES.get(_named(family))
    return (
        [ENCODED[_named(family)]]
        if native is None
        else [native.vocabulary, *native.other_vocabularies.values()]
    )


def test_every_checkpoint_is_in_a_row() -> None:
    for family in CONTRACTS:
        shown = [name for each in _vocabularies(family) for name in checkpoints_of(family, each)]
        assert sorted(shown) == sorted(one.name for one in family.checkpoints)


def test_the_written_table_shows_a_thousand_cases_each_and_no_difference() -> None:
    for _, _, _, _, reference, cases, text, vocabulary, ids in rows_of(PAGE.read_text()):
        assert int(cases.replace(",", "")) >= 1_000, reference
        assert (text, ids) == ("0", NOT_CLAIMED if vocabulary in APPROXIMATE else "0"), reference


def test_the_written_page_says_why_a_vocabulary_is_approximate() -> None:
    page = PAGE.read_text()
    assert all(f"* `{name}`: {why}." in page for name, why in APPROXIMATE.items())


def test_the_written_table_has_both_versions_of_transformers_for_every_template() -> None:
    versions: dict[tuple[str, ...], set[str]] = {}
    for row in rows_of(PAGE.read_text()):
        if row[4].startswith("transformers "):
            versions.setdefault(row[:2], set()).add(row[4])
    assert {len(found) for found in versions.values()} == {2}
    assert len({frozenset(found) for found in versions.values()}) == 1


@pytest.mark.parametrize("family", CONTRACTS, ids=lambda family: f"{family.name}-{family.variant}")
def test_every_finite_kwarg_value_is_in_the_matrix(family: Family) -> None:
    assert values_not_generated(family, generate(family, 200, SEED)) == set()


@pytest.mark.parametrize("family", CONTRACTS, ids=lambda family: f"{family.name}-{family.variant}")
@pytest.mark.parametrize("field", ["pinned_kwargs", "turn_kwargs"])
def test_a_value_that_no_conversation_has_is_missed(family: Family, field: str) -> None:
    kwargs = getattr(family, field)
    declared = {name: (*values, "new") for name, values in kwargs.items() if values} | {"kwarg": ("new",)}
    changed: dict[str, Any] = {field: {**kwargs, **declared}}
    wider = replace(family, **changed)
    missed = values_not_generated(wider, generate(family, 200, SEED))
    assert missed == {f'{name}="new"' for name in declared}
    assert values_not_generated(wider, generate(wider, 200, SEED)) == set()


def test_a_boolean_is_no_word_for_itself() -> None:
    family = get_family("qwen36")
    worded = replace(family, turn_kwargs={"enable_thinking": ("true",)}, pinned_kwargs={})
    assert values_not_generated(worded, generate(family, 200, SEED)) == {'enable_thinking="true"'}


class _Flawed:
    """A rendering that differs for conversations that call for a generation prompt."""

    name = "flawed"

    def text(self, family: Family, prompt: Prompt) -> str:
        ours = family_renderer(family).text(
            prompt.messages,
            tools=prompt.tools,
            kwargs=prompt.kwargs,
            generation_prompt=prompt.generation_prompt,
        )
        return ours + "!" * prompt.generation_prompt


@pytest.mark.assets
def test_differences_are_counted() -> None:
    counts = compare(_Flawed(), get_family("qwen3"), ["qwen3", "qwen35"], 10)
    assert (counts.cases, counts.texts_differ) == (10, 5)
    assert counts.ids_differ == {"qwen3": 0, "qwen35": 0}


@pytest.mark.assets
@pytest.mark.parametrize(
    ("named", "code"),
    [
        (("deepseekv41", None), "llm-router-utils 0.8.1"),
        (("inkling", None), "llm-router-utils 0.8.1"),
        (("glm53", "5.3-flash"), "sglang 0.5.23"),
    ],
)
def test_what_has_no_template_at_hand_is_compared_with_other_code(
    named: tuple[str, str | None], code: str
) -> None:
    family = get_family(*named)
    with other_reference(family) as reference:
        counts = compare(reference, family, [ENCODED[named]], 20)
    assert (counts.reference, counts.texts_differ) == (code, 0)
    assert counts.ids_differ == {ENCODED[named]: 0}
