"""Real templates with real vocabularies: the inference finds what the built-in contracts say."""

from __future__ import annotations

import pytest

from tests.register.natives import APPEND_ONLY, CORRECTED, REWRITING, Checkpoint, differences
from tests.register.report import inferred, table, written

pytestmark = pytest.mark.assets


def _label(one: Checkpoint) -> str:
    return one.name


def test_ten_checkpoints_are_compared() -> None:
    assert len({one.name for one in APPEND_ONLY}) >= 10


@pytest.mark.parametrize("one", [*APPEND_ONLY, *CORRECTED], ids=_label)
def test_the_inferred_contract_is_the_built_in_one(one: Checkpoint) -> None:
    found = inferred(one)

    assert found.blame is None
    assert differences(found.family, one.contract, one.subject().template.variables) == []


@pytest.mark.parametrize("one", REWRITING, ids=_label)
def test_a_native_that_no_kwargs_help_is_refused_with_its_condition(one: Checkpoint) -> None:
    found = inferred(one)
    line, expression = REWRITING[one]

    assert found.blame is not None
    assert (found.blame.line, found.blame.expression) == (line, expression)
    assert found.blame.was != found.blame.becomes
    assert len(found.blame.probe.messages) <= 4


@pytest.mark.parametrize("one", REWRITING, ids=_label)
def test_a_refused_native_still_tells_its_boundary_and_parsers(one: Checkpoint) -> None:
    family = inferred(one).family

    assert family.boundary == one.contract.boundary
    assert family.parsers.reasoning == one.contract.parsers.reasoning
    assert family.parsers.tool_call == one.contract.parsers.tool_call
    assert family.parsers.sglang_tool_call == one.contract.parsers.sglang_tool_call


@pytest.mark.parametrize("one", APPEND_ONLY, ids=_label)
def test_every_finding_counts_its_probes(one: Checkpoint) -> None:
    findings = inferred(one).findings

    assert {"append-only kwargs", "boundary", "append roles", "stop tokens"} <= {f.name for f in findings}
    assert all(0 <= finding.held <= finding.probes > 0 for finding in findings)


def test_the_table_of_the_documentation_is_current() -> None:
    assert written() == table(), "python -m tests.register.report"
