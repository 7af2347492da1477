"""An unknown template is told apart by what it renders."""

from __future__ import annotations

import pytest

from tests.assets import native_template
from titocli.families.chat_template import ConversationTemplate, compile_template
from titocli.families.registry import all_contracts, get_family
from titocli.families.template_source import TemplateSource, shipped_template
from titocli.verify.nearest import nearest_contracts, resemblance


def _template(text: str) -> ConversationTemplate:
    return compile_template(TemplateSource("unknown", text))


def test_a_familys_own_template_has_no_difference() -> None:
    family = get_family("qwen3")
    found = resemblance(_template(shipped_template("qwen3.jinja").text), family, conversations=30, seed=1)
    assert (found.differing, found.first, found.conversations) == (0, None, 30)


def test_the_first_difference_is_shown_with_its_place() -> None:
    family = get_family("qwen3")
    shipped = shipped_template("qwen3.jinja").text
    assert shipped.count("<tool_call>") >= 1
    found = resemblance(_template("X" + shipped), family, conversations=5, seed=1)
    assert found.differing == 5
    assert found.first is not None
    assert (found.first.conversation, found.first.at) == (0, 0)
    assert found.first.theirs == "X" + found.first.ours[:59]


def test_a_template_that_raises_differs() -> None:
    family = get_family("qwen3")
    found = resemblance(_template("{{ raise_exception('no') }}"), family, conversations=3, seed=1)
    assert found.differing == 3
    assert found.first is not None
    assert "the template raised" in found.first.theirs


@pytest.mark.assets
@pytest.mark.parametrize(
    ("native", "named"),
    [
        ("qwen3_old", [("qwen3", None)]),
        ("qwen3.5", [("qwen35", "large")]),
        ("glm5", [("glm47", "4.7"), ("glm47", "5")]),
        ("minimax_m2.7", [("minimax_m27", None)]),
        ("qwen3_coder", []),
    ],
)
def test_the_nearest_contracts_of_a_native_template_are_its_own(
    native: str, named: list[tuple[str, str | None]]
) -> None:
    template = _template(native_template(native).read_bytes().decode())
    found = nearest_contracts(template, all_contracts(), conversations=40, seed=1)
    assert [(one.family.name, one.family.variant) for one in found] == named
