"""The examples of docs/session.md run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent.parent / "docs" / "session.md"


def test_the_examples_of_the_page_run_and_their_function_is_a_matcher() -> None:
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102 - our own page

    assert len(blocks) == 2
    assert names["follow_up"].parent == 0
    assert names["ignore_case"]({"role": "user", "content": "A"}, {"role": "user", "content": "a"}) is True


def test_the_page_names_every_option_of_a_session_and_every_matcher() -> None:
    from titocli.session.limits import SessionLimits
    from titocli.session.matching import BUILT_IN

    page = PAGE.read_text(encoding="utf-8")
    named = {*SessionLimits.__dataclass_fields__, *(matcher.name for matcher in BUILT_IN)}
    named |= {
        "temperature",
        "top_p",
        "top_k",
        "evaluation",
        "sampling_conflict",
        "chat_template_kwargs",
        "metadata",
    }

    assert {name for name in named if f"`{name}`" not in page} == set()
