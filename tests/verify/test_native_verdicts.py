"""The checkpoints' own templates: the verdict on each, and the small conversation that shows it."""

from __future__ import annotations

import pytest

from tests.assets import native_template
from tests.verify.subjects import events, failures, finished
from titocli.families.template_source import template_from_file
from titocli.jsonvalue import JsonValue
from titocli.verify.contract import Contract
from titocli.verify.events import CheckId, FailureKind, Status
from titocli.verify.target import TargetSpec, contract_of

pytestmark = pytest.mark.assets
EDIT = ("qwen3", "qwen3_old", "qwen3_thinking_2507_next", "qwen3.5", "qwen3.5_small", "qwen3.6")
EDIT_TOO = ("glm4.7", "glm5", "glm5.1", "glm5.2", "nemotron3_nano", "nemotron3_super", "nemotron3_ultra")
AND_THESE = ("minimax_m2", "minimax_m2.1", "minimax_m2.5", "minimax_m2.7", "kimi_k2.5", "kimi_k2.6")
KEEP = ("qwen3.8", "qwen3_instruct_2507")
#: The kwargs that make a native template append-only.
KEPT_BY = {
    "nemotron3_nano": {"truncate_history_thinking": False},
    "nemotron3_super": {"truncate_history_thinking": False},
    "nemotron3_ultra": {"truncate_history_thinking": False},
    "qwen3.6": {"preserve_thinking": True},
    "kimi_k2.6": {"preserve_thinking": True},
    "glm4.7": {"clear_thinking": False},
    "glm5": {"clear_thinking": False},
    "glm5.2": {"clear_thinking": False},
}


def native(name: str, **kwargs: JsonValue) -> Contract:
    source = template_from_file(native_template(name))
    return contract_of(TargetSpec(name=name, source=source, kwargs=kwargs))


@pytest.mark.parametrize("name", [*EDIT, *EDIT_TOO, *AND_THESE])
def test_a_native_template_that_edits_history_is_shown_doing_it_in_six_messages_at_most(name: str) -> None:
    made = events(native(name), checks=(CheckId.APPEND_ONLY,))
    assert finished(made, CheckId.APPEND_ONLY).status is Status.FAILED
    for failure in failures(made):
        assert failure.kind is FailureKind.HISTORY_REWRITTEN
        assert len(failure.case.messages) <= 6
        assert failure.at.template is not None
        assert failure.at.template.line > 1
        assert failure.actual[: failure.at.character] == failure.expected[: failure.at.character]
        assert not failure.actual.startswith(failure.expected)


@pytest.mark.parametrize("name", KEEP)
def test_a_native_template_that_keeps_history_passes(name: str) -> None:
    made = events(native(name), checks=(CheckId.APPEND_ONLY,), examples=30)
    assert finished(made, CheckId.APPEND_ONLY).status is Status.PASSED


@pytest.mark.parametrize("name", list(KEPT_BY))
def test_the_kwarg_that_the_family_fixes_makes_a_native_template_pass(name: str) -> None:
    made = events(native(name, **KEPT_BY[name]), checks=(CheckId.APPEND_ONLY,), examples=30)
    assert finished(made, CheckId.APPEND_ONLY).status is Status.PASSED


def test_the_native_glm_5_1_edits_a_turn_without_reasoning_whatever_clear_thinking_says() -> None:
    made = events(native("glm5.1", clear_thinking=False), checks=(CheckId.APPEND_ONLY,))
    (failure, *_) = failures(made)
    assert [one["role"] for one in failure.case.messages] == ["user", "assistant", "user"]
    assert "reasoning_content" not in failure.case.messages[1]
    assert failure.expected[failure.at.character - 1 :].startswith("<think></think>")


def test_a_known_template_says_whose_it_is_and_what_it_is_checked_without() -> None:
    target = native("qwen3").target
    assert target.family == "qwen3"
    assert target.notes == (
        "this is the template of qwen3; checked without what that family fixes (clear_thinking=False)",
    )


def test_the_guard_that_a_session_trips_over_is_found_in_the_native_qwen3_5() -> None:
    made = events(native("qwen3.5"), checks=(CheckId.SUFFIX_INDEPENDENCE,))
    kinds = {failure.kind for failure in failures(made)}
    assert kinds == {FailureKind.TEMPLATE_RAISED}
    assert "No user query" in failures(made)[0].sentence
