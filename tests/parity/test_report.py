"""The parity report covers every registered contract, and the written one shows no difference."""

from __future__ import annotations

import pytest

from tests.parity.contract_parity import values_not_generated
from tests.parity.natives import ENCODED, NATIVES
from tests.parity.references import Prompt, other_reference
from tests.parity.report import PAGE, SEED, compare, rows_of
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
        (family.name, family.variant or "", ", ".join(one.name for one in family.checkpoints))
        for family in CONTRACTS
        for _ in range(2 if _named(family) in NATIVES else 1)
    ]
    assert [row[:3] for row in rows_of(PAGE.read_text())] == expected


def test_the_written_table_shows_a_thousand_cases_each_and_no_difference() -> None:
    for _, _, _, _, reference, cases, text, _, ids in rows_of(PAGE.read_text()):
        assert int(cases.replace(",", "")) >= 1_000, reference
        assert (text, ids) == ("0", "0"), reference


def test_the_written_table_has_both_versions_of_transformers_for_every_template() -> None:
    versions: dict[tuple[str, str], set[str]] = {}
    for row in rows_of(PAGE.read_text()):
        if row[4].startswith("transformers "):
            versions.setdefault(row[:2], set()).add(row[4])
    assert {len(found) for found in versions.values()} == {2}
    assert len({frozenset(found) for found in versions.values()}) == 1


@pytest.mark.parametrize("family", CONTRACTS, ids=lambda family: f"{family.name}-{family.variant}")
def test_every_finite_kwarg_value_is_in_the_matrix(family: Family) -> None:
    assert values_not_generated(family, generate(family, 200, SEED)) == set()


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
    counts = compare(_Flawed(), get_family("qwen3"), "qwen3", 10)
    assert (counts.cases, counts.texts_differ, counts.ids_differ) == (10, 5, 0)


@pytest.mark.assets
@pytest.mark.parametrize("named", [("deepseekv41", None), ("inkling", None)])
def test_what_ships_no_template_is_compared_with_other_code(named: tuple[str, str | None]) -> None:
    family = get_family(*named)
    with other_reference(family) as reference:
        counts = compare(reference, family, ENCODED[named], 20)
    assert (counts.reference, counts.texts_differ, counts.ids_differ) == ("llm-router-utils 0.8.1", 0, 0)
