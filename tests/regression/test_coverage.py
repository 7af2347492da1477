"""Every regression case, hazard and reported case has a test, by the markers that the tests bear."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
HAZARDS_PAGE = TESTS.parent / "docs" / "hazards.md"
#: The regression cases of the session server.
REGRESSIONS = (*(f"R{number}" for number in range(1, 38)), "R2b", "R3b", "R3c", "R3d")
HAZARDS = tuple(range(1, 26))
#: Reported bugs of histories (b), wire formats (c) and servers (d).
CASES = (
    *("b03", "b06", "b08", "b09", "b10", "b12", "b13", "b16", "b17", "b18", "b19", "b20", "b21", "b22"),
    *("b23", "b24", "b25", "b26"),
    *("c01", "c02", "c03", "c05", "c06", "c07", "c09", "c10", "c11", "c12", "c13", "c14", "c15", "c16"),
    *("c17", "c18", "c19", "c20", "c21", "c22", "c23", "c24", "c25"),
    *("d02", "d03", "d04", "d05", "d08", "d09", "d10", "d11", "d12", "d13", "d14", "d15", "d16"),
)
_MARKERS = ("regression", "hazard", "case")
#: Tests of tests/cases say their case in their name.
_NAMED_CASE = re.compile(r"test_([a-e]\d\d)_\w+")
_ROW = re.compile(r"\| (\d+) \| ([^|]+) \| ([^|]+) \|")
_NAMED_TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


@cache
def marked() -> dict[tuple[str, object], frozenset[str]]:
    """The tests by their markers, as ``path::name``."""
    found: dict[tuple[str, object], set[str]] = defaultdict(set)
    for path in sorted(TESTS.glob("**/test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        of_module = [mark for node in tree.body if isinstance(node, ast.Assign) for mark in _marks(node)]
        for test in _tests(tree):
            name = f"tests/{path.relative_to(TESTS).as_posix()}::{test.name}"
            named = _NAMED_CASE.fullmatch(test.name)
            own = [mark for decorator in test.decorator_list for mark in _marks(decorator)]
            for mark in (*of_module, *own, *([("case", named[1])] if named else [])):
                found[mark].add(name)
    return {mark: frozenset(tests) for mark, tests in found.items()}


def _tests(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node


def _marks(node: ast.AST) -> Iterator[tuple[str, object]]:
    """``("regression", "R1")`` of every ``pytest.mark.regression("R1")`` below a node."""
    for call in ast.walk(node):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr in _MARKERS and ast.unparse(call.func.value) == "pytest.mark":
            yield from ((call.func.attr, ast.literal_eval(argument)) for argument in call.args)


def rows() -> dict[int, str]:
    """What docs/hazards.md says of each hazard."""
    lines = HAZARDS_PAGE.read_text(encoding="utf-8").split("\n")
    return {int(row[1]): row[3] for line in lines if (row := _ROW.fullmatch(line))}


@pytest.mark.parametrize("case", REGRESSIONS)
def test_a_regression_case_has_a_test(case: str) -> None:
    assert ("regression", case) in marked()


@pytest.mark.parametrize("case", CASES)
def test_a_reported_case_has_a_test(case: str) -> None:
    assert ("case", case) in marked()


@pytest.mark.parametrize("hazard", HAZARDS)
def test_a_hazard_has_a_line_that_names_its_tests_or_says_why_it_cannot_occur(hazard: int) -> None:
    line = rows()[hazard]
    named = {f"{path}::{test}" for path, test in _NAMED_TEST.findall(line)}
    tests = marked().get(("hazard", hazard), frozenset())

    assert named <= tests, f"no test of hazard {hazard}: {named - tests}"
    assert bool(named) == bool(tests)
    assert named or line.rstrip().endswith(".")


def test_no_marker_names_what_does_not_exist() -> None:
    known = {("regression", case) for case in REGRESSIONS} | {("hazard", number) for number in HAZARDS}
    unknown = [mark for mark in marked() if mark[0] != "case" and mark not in known]

    assert unknown == []
    assert set(rows()) == set(HAZARDS)
    assert len(marked()) > 100


def test_a_marker_is_found_wherever_it_may_stand() -> None:
    source = """
pytestmark = [pytest.mark.engine, pytest.mark.case("x01")]

@pytest.mark.parametrize("a", [pytest.param(1, marks=pytest.mark.hazard(3))])
@pytest.mark.regression("R1", "R2")
def test_a(): ...
"""
    assigned, function = ast.parse(source).body

    assert list(_marks(assigned)) == [("case", "x01")]
    assert set(_marks(function)) == {("hazard", 3), ("regression", "R1"), ("regression", "R2")}
