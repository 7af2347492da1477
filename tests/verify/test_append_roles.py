"""Roles that a family appends are generated as appends; for one that it does not there is a reason to be seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from itertools import pairwise

import pytest

from tests.encoders.reference import Reference, running_reference
from titocli.errors import TemplateRaised
from titocli.families.family import Family, Role
from titocli.families.registry import all_contracts, get_family
from titocli.families.renderer import Renderer, family_renderer
from titocli.jsonvalue import Message
from titocli.verify.append_only import find_counterexample
from titocli.verify.conversations import Conversation, generate

SEED = 3
CONTRACTS = [family for family in all_contracts() if family.name != "default"]

USER: Message = {"role": "user", "content": "u"}
ANSWER: Message = {"role": "assistant", "content": "a", "reasoning_content": "r"}
AFTER: dict[Role, list[list[Message]]] = {
    Role.SYSTEM: [
        [{"role": "system", "content": "late"}],
        [{"role": "system", "content": "late"}, USER],
        [{"role": "system", "content": "la"}, {"role": "system", "content": "te"}, USER],
    ]
}


class Reason(StrEnum):
    """Why a family does not append a role."""

    #: The rendering refuses a message of that role after an assistant turn.
    REFUSED = "refused"
    #: It changes text that an earlier turn was rendered to.
    REWRITES = "rewrites"
    #: So does the encoder of those who trained the model: the text of ours would be none that it knows.
    REWRITES_IN_THE_REFERENCE = "rewrites in the reference"


#: The families that leave a role out, and why.
EXPECTED = {
    "qwen35": Reason.REFUSED,
    "qwen36": Reason.REFUSED,
    "qwen38small": Reason.REFUSED,
    "qwen4exp": Reason.REFUSED,
    "minimax_m25": Reason.REFUSED,
    "minimax_m27": Reason.REFUSED,
    "deepseekv4": Reason.REWRITES_IN_THE_REFERENCE,
}
UNCLAIMED = [(family, role) for family in CONTRACTS for role in Role if role not in family.append_roles]


def _named(value: Family | Role) -> str:
    return f"{value.name}-{value.variant}" if isinstance(value, Family) else str(value)


@pytest.fixture(scope="module")
def reference() -> Iterator[Reference]:
    with running_reference() as running:
        yield running


def _reason(family: Family, role: Role) -> Reason | None:
    """Why the role is left out, by rendering it; None where our rendering does not say."""
    renderer = family_renderer(replace(family, append_roles=tuple(Role)))
    for after in AFTER[role]:
        try:
            if _rewrites(renderer, (USER, ANSWER, *after)):
                return Reason.REWRITES
        except TemplateRaised as refused:
            return Reason.REFUSED if refused.details["message_index"] == len((USER, ANSWER)) else None
    return None


def _reason_in_the_reference(reference: Reference, family: Family, role: Role) -> Reason | None:
    """The reference drops earlier reasoning by itself, so what comes before is what it prints without the role."""

    def text(*after: Message) -> str:
        messages = [USER, ANSWER, *after, USER]
        return reference.encode(family, messages, tools=(), thinking=True, effort="high")

    before = text()[: text().index(family.stop_tokens[0])]
    late = [[each for each in after if each["role"] == role] for after in AFTER[role]]
    rewrites = any(not text(*after).startswith(before) for after in late)
    return Reason.REWRITES_IN_THE_REFERENCE if rewrites else None


def _rewrites(renderer: Renderer, messages: tuple[Message, ...]) -> bool:
    conversation = Conversation(messages=messages, tools=None, kwargs={}, seed=0, index=0)
    return find_counterexample(renderer, conversation) is not None


@pytest.mark.parametrize(
    ("family", "role"), [each for each in UNCLAIMED if each[0].encoder is None], ids=_named
)
def test_a_role_that_a_family_does_not_append_has_a_reason(family: Family, role: Role) -> None:
    assert _reason(family, role) is EXPECTED[family.name]


@pytest.mark.assets
@pytest.mark.parametrize(("family", "role"), [each for each in UNCLAIMED if each[0].encoder], ids=_named)
def test_a_role_that_an_encoder_does_not_append_has_a_reason(
    reference: Reference, family: Family, role: Role
) -> None:
    assert _reason_in_the_reference(reference, family, role) is EXPECTED[family.name]


@pytest.mark.assets
def test_the_reference_rewrites_nothing_for_an_encoder_that_appends_the_role(reference: Reference) -> None:
    family = get_family("deepseekv41")
    assert Role.SYSTEM in family.append_roles
    assert _reason_in_the_reference(reference, family, Role.SYSTEM) is None


def test_the_families_that_leave_a_role_out_are_known() -> None:
    leaving_out = {family.name for family in CONTRACTS if set(family.append_roles) != set(Role)}
    assert leaving_out == set(EXPECTED)


@pytest.mark.parametrize("family", CONTRACTS, ids=lambda family: f"{family.name}-{family.variant}")
def test_nothing_speaks_against_a_system_message_where_it_is_appended(family: Family) -> None:
    if Role.SYSTEM in family.append_roles:
        assert _reason(family, Role.SYSTEM) is None


@pytest.mark.parametrize("family", CONTRACTS, ids=lambda family: f"{family.name}-{family.variant}")
def test_every_role_that_is_appended_is_generated_after_an_assistant_turn(family: Family) -> None:
    appended = {
        after["role"]
        for conversation in generate(family, 200, SEED)
        for before, after in pairwise(conversation.messages)
        if before["role"] == "assistant"
    }
    assert appended == set(family.append_roles)
