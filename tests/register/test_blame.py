"""The condition that rewrites history: its line, its words, the smallest conversation."""

from __future__ import annotations

import pytest

from tests.register.templates import chatml, subject
from titocli.families.family import Role
from titocli.register.blame import Blame, blame

_HEAD = """\
{%- set last = namespace(user=-1) %}
{%- for m in messages %}{% if m.role == 'user' %}{% set last.user = loop.index0 %}{% endif %}{% endfor %}
"""


def found(text: str) -> Blame:
    result = blame(subject(text), {})
    assert result is not None
    return result


def body(lines: str) -> str:
    return f"{_HEAD}{{%- for m in messages %}}<|im_start|>{lines}<|im_end|>{{% endfor %}}"


def test_a_template_that_keeps_history_has_nobody_to_blame() -> None:
    assert blame(subject(chatml()), {}) is None


def test_the_condition_is_told_with_its_line_and_both_values() -> None:
    result = found(chatml("loop.index0 > last.user"))

    assert (result.file, result.line) == ("toy.jinja", 7)
    assert result.expression == "loop.index0 > last.user"
    assert (result.before, result.after) == ("true", "false")
    assert result.was.startswith("<think>\nthought1x")
    assert result.becomes.startswith("said1x")


def test_the_conversation_is_the_smallest_that_shows_it() -> None:
    result = found(chatml("loop.index0 > last.user"))

    assert [message["role"] for message in result.probe.messages] == ["user", "assistant", "user"]
    assert result.turn_end == 2
    assert "appending user to [user, assistant] turns" in result.sentence
    assert result.as_json()["conversation"] == list(result.probe.messages)


@pytest.mark.parametrize(
    ("lines", "expression", "line"),
    [
        ("{{ m.content }}{{ ' last' if loop.last else '' }}", "{{ m.content }}{{ ' last' if loop.last", 3),
        ("{{ m.content }}\n{%- if loop.last -%}\n!{% endif %}", "loop.last", 4),
        (
            "{%- if m.role == 'user' %}u{% elif loop.index0 > last.user %}a{% else %}b{% endif %}",
            "loop.index0 > last.user",
            3,
        ),
        ("{%- if m.role == 'user'\n   or loop.last %}x{% endif %}", "m.role == 'user' or loop.last", 3),
    ],
)
def test_conditions_of_every_form_are_found(lines: str, expression: str, line: int) -> None:
    result = found(body(lines))

    assert expression in str(result.expression)
    assert result.line == line


def test_a_condition_that_differs_but_prints_the_same_is_not_blamed() -> None:
    harmless = "{%- if loop.last %}{% endif %}"
    result = found(
        body(harmless + "{%- if m.role == 'assistant' and loop.index0 > last.user %}t{% endif %}c")
    )

    assert result.expression == "m.role == 'assistant' and loop.index0 > last.user"


def test_the_loop_that_a_message_moves_to_is_told() -> None:
    text = """\
{%- for m in messages[:-1] -%}<|im_start|>old {{ m.content }}{%- endfor -%}
{%- for m in messages[-1:] -%}<|im_start|>new {{ m.content }}{%- endfor -%}
"""
    result = found(text)

    assert (result.line, result.expression) == (1, "for m in messages[:-1]")
    assert "line 2" in result.before


def test_a_difference_without_any_decision_is_told_without_a_line() -> None:
    result = found("{% for m in messages %}{{ messages | length }}{{ m.content }}{% endfor %}")

    assert (result.line, result.expression) == (None, None)
    assert result.sentence.startswith("toy.jinja rewrites history: appending ")


def test_roles_that_are_not_appended_cannot_be_blamed() -> None:
    text = chatml("not messages | selectattr('role', 'equalto', 'system') | list")
    toy = subject(text)

    assert blame(toy, {}, (Role.USER, Role.TOOL)) is None
    assert blame(toy, {}, tuple(Role)) is not None
