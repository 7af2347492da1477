"""Reported cases whose exact text is known per family (``exact.json``)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cases.rendering import NAMED, text_of

CASES: dict[str, Any] = json.loads(Path(__file__).with_name("exact.json").read_text(encoding="utf-8"))
ROWS = [(case, family) for case, entry in CASES.items() for family in entry["texts"] if family in NAMED]


@pytest.mark.parametrize(("case", "family"), ROWS)
def test_a_case_renders_as_it_should(case: str, family: str) -> None:
    entry = CASES[case]
    label, expected = NAMED[family], entry["texts"][family]
    rendered = [
        text_of(label, entry["messages"], tools=entry.get("tools"), prompt=prompt, **entry.get("kwargs", {}))
        for prompt in (True, False)
    ]

    # The cases stop before or after the generation prompt.
    assert expected in rendered
