"""Every reported case has its tests: where they are, and that they are there."""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
#: The case, and the modules whose tests bear its id.
INDEX: Mapping[str, tuple[str, ...]] = {
    "a01": ("test_tool_arguments",),
    "a03": ("test_tool_arguments",),
    "a05": ("test_tool_arguments",),
    "a07": ("test_content",),
    "a08": ("test_content",),
    "a10": ("test_content",),
    "a11": ("test_tools",),
    "a12": ("test_tools",),
    "a14": ("test_command_line", "test_reasoning", "test_turn_ends"),
    "a15": ("test_reasoning",),
    "a16": ("test_reasoning",),
    "a17": ("test_roles",),
    "a18": ("test_roles",),
    "a19": ("test_roles",),
    "a20": ("test_roles",),
    "a22": ("test_content",),
    "a23": ("test_content",),
    "a24": ("test_content",),
    "a25": ("test_roles",),
    "a26": ("test_roles",),
    "a27": ("test_tool_arguments",),
    "a28": ("test_command_line", "test_http", "test_kwargs"),
    "a29": ("test_kwargs",),
    "a30": ("test_tools",),
    "a31": ("test_boundaries",),
    "a32": ("test_content", "test_http"),
    "a33": ("test_echoes", "test_http", "test_tool_arguments"),
    "a34": ("test_tools", "test_turn_ends"),
    "a35": ("test_tool_arguments",),
    "b03": ("test_kwargs",),
    "b06": ("test_boundaries",),
    "b08": ("test_echoes",),
    "b09": ("test_echoes",),
    "b10": ("test_boundaries",),
    "b12": ("test_histories",),
    "b13": ("test_histories",),
    "b16": ("test_histories",),
    "b17": ("test_kwargs",),
    "b18": ("test_http",),
    "b19": ("test_turn_ends",),
    "b20": ("test_turn_ends",),
    "b21": ("test_turn_ends",),
    "b22": ("test_turn_ends",),
    "b23": ("test_boundaries",),
    "b24": ("test_turn_ends",),
    "b25": ("test_boundaries",),
    "b26": ("test_histories",),
    "e01": ("test_command_line",),
    "e02": ("test_command_line",),
    "e03": ("test_command_line",),
    "e05": ("test_command_line",),
    "e07": ("test_command_line",),
    "e08": ("test_command_line",),
    "e09": ("test_command_line",),
}
_NAME = re.compile(r"test_([abe]\d\d)_\w+")


def _found() -> dict[str, set[str]]:
    """The modules of this folder that have a test of each case."""
    modules: dict[str, set[str]] = defaultdict(set)
    for path in FOLDER.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = _NAME.fullmatch(node.name) if isinstance(node, ast.FunctionDef) else None
            if named is not None:
                modules[named[1]].add(path.stem)
    return modules


@pytest.mark.parametrize("case", INDEX)
def test_a_case_has_its_tests(case: str) -> None:
    assert _found()[case] == set(INDEX[case])


def test_every_test_of_a_case_is_listed() -> None:
    assert set(_found()) == set(INDEX)


def test_every_case_with_an_exact_text_is_listed() -> None:
    exact = json.loads((FOLDER / "exact.json").read_text(encoding="utf-8"))

    assert set(exact) <= set(INDEX)
