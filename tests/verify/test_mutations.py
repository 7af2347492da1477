"""Templates with a mistake in them: ``verify-template`` finds nearly all, and those it does not are listed."""

from __future__ import annotations

import pytest

from tests.verify.mutations import MUTATIONS, NOT_FOUND, Known, Mutation
from titocli.families.family import Family
from titocli.families.registry import all_contracts, get_family
from titocli.families.template_source import TemplateSource, shipped_template
from titocli.verify.events import CheckFailed, Failure
from titocli.verify.run import Plan, verify
from titocli.verify.target import TargetSpec, contract_of

#: Enough for each of them: the schedules, and a few generated conversations.
PLAN = Plan(examples=8, fail_fast=True)
#: Of a hundred mutations, so many are found.
SHARE = 0.95


def family_of(mutation: Mutation) -> Family:
    name, _, variant = mutation.family.partition(":")
    return get_family(name, variant or None)


def original(mutation: Mutation) -> TemplateSource:
    return shipped_template(str(family_of(mutation).template))


def mutated(mutation: Mutation) -> TemplateSource:
    source = original(mutation)
    assert source.text.count(mutation.old) == mutation.times, mutation.id
    return TemplateSource(source.name, source.text.replace(mutation.old, mutation.new))


def first_failure(mutation: Mutation) -> Failure | None:
    """What a run tells first; against the original only where no contract could know."""
    spec = TargetSpec(
        name=mutation.family,
        family=family_of(mutation),
        source=mutated(mutation),
        other=original(mutation) if mutation.known is Known.ORIGINAL else None,
    )
    events = verify(contract_of(spec), PLAN)
    return next((event.failure for event in events if isinstance(event, CheckFailed)), None)


@pytest.fixture(scope="module")
def found() -> dict[str, Failure | None]:
    return {mutation.id: first_failure(mutation) for mutation in MUTATIONS}


def test_there_are_enough_of_them_and_every_template_has_some() -> None:
    assert len(MUTATIONS) >= 60
    assert len({mutation.id for mutation in MUTATIONS}) == len(MUTATIONS)
    templates = {str(family.template) for family in all_contracts() if family.template is not None}
    assert {str(family_of(mutation).template) for mutation in MUTATIONS} == templates
    assert all(mutation.imitates and mutation.old != mutation.new for mutation in MUTATIONS)


def test_nearly_all_are_found_and_the_others_are_listed(found: dict[str, Failure | None]) -> None:
    missed = {name for name, failure in found.items() if failure is None}

    assert missed == set(NOT_FOUND)
    assert len(missed) <= (1 - SHARE) * len(MUTATIONS)


def test_each_is_found_by_a_conversation_of_a_few_messages(found: dict[str, Failure | None]) -> None:
    sizes = {name: len(failure.case.messages) for name, failure in found.items() if failure is not None}

    assert max(sizes.values()) <= 8, sizes


def test_most_are_known_by_the_contract_alone() -> None:
    contract = [mutation for mutation in MUTATIONS if mutation.known is Known.CONTRACT]

    assert len(contract) >= 60
