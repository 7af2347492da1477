"""The declared deviations, as edits of the checkpoints' own templates.

Each edit is one or two conditions; what it replaces must occur exactly once, so that an edit cannot silently
stop meaning what it says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Edit = tuple[str, str]

#: What a checkpoint's template raises for a conversation without a user message; the families do not.
USER_GUARD_MESSAGE = "No user query found in messages."
_NO_USER_GUARD: Edit = ("{%- if ns.multi_step_tool %}", "{%- if false %}")

_ANY_TURN: Edit = ("{%- if loop.index0 > ns.last_query_index %}", "{%- if true %}")
_ANY_BLOCK: Edit = ("{%- if loop.last or (not loop.last and reasoning_content) %}", "{%- if true %}")

WITHOUT_USER_GUARD: Mapping[str, Sequence[Edit]] = {
    "qwen35": [_NO_USER_GUARD],
    "qwen36": [_NO_USER_GUARD],
    "qwen38small": [_NO_USER_GUARD],
    "qwen4exp": [_NO_USER_GUARD],
}

#: Keeps every think block, in the templates that have no kwarg for it.
KEEPS_THINKING: Mapping[str, Sequence[Edit]] = {
    "qwen3": [_ANY_TURN, _ANY_BLOCK],
    "qwennext": [_ANY_TURN, _ANY_BLOCK],
    "qwen35": [_ANY_TURN],
    "kimi25": [("range(messages|length-1, -1, -1)", "[]")],
    "minimax": [
        ("{%- if reasoning_content and loop.index0 > ns.last_user_index -%}", "{%- if reasoning_content -%}")
    ],
}

#: GLM-5.1: a turn without reasoning begins in the same way before and after the last user message.
STEADY_EMPTY_BLOCK: Sequence[Edit] = [
    (
        "{%- elif loop.index0 > ns.last_user_index and not (enable_thinking is defined and not enable_thinking) %}",
        "{%- elif not (enable_thinking is defined and not enable_thinking) %}",
    ),
    ("{%- elif loop.index0 < ns.last_user_index and ns.has_thinking %}", "{%- elif false %}"),
]


def edited(text: str, edits: Sequence[Edit]) -> str:
    """``text`` with each edit made; fails when what an edit replaces is not there exactly once."""
    for old, new in edits:
        assert text.count(old) == 1, f"{text.count(old)} times {old!r}"
        text = text.replace(old, new)
    return text
