"""The kwargs of a template and the values worth trying, read from its source."""

from __future__ import annotations

import pytest

from titocli.jsonvalue import JsonValue
from titocli.register.variables import Variable, free_special_tokens, known_first, template_variables


def kwargs_of(source: str) -> dict[str, tuple[JsonValue, ...]]:
    return {one.name: one.values for one in template_variables(source)}


@pytest.mark.parametrize(
    ("source", "values"),
    [
        ("{{ x }}", (True, False)),
        ("{% if x == 'long' %}{% endif %}", ("long",)),
        ("{% if x in ['a', 'b'] %}{% endif %}", ("a", "b")),
        ("{% if x not in ('a', 'b') %}{% endif %}", ("a", "b")),
        ("{% set table = {'a': 1, 'b': 2} %}{% if x in table %}{% endif %}", ("a", "b")),
        ("{% set y = x | default('b') %}{% if y in ['a', 'b'] %}{% endif %}", ("b", "a")),
        ("{% set y = 'high' if x == 'high' else 'max' %}", ("high", "max")),
        ("{% if x == 3 %}{% endif %}", (True, False, 3)),
        ("{% set y = 'not a word' if x == 'a' else '<b>' %}", ("a",)),
    ],
)
def test_values_are_those_that_the_template_has_words_for(source: str, values: tuple[JsonValue, ...]) -> None:
    assert kwargs_of(source) == {"x": values}


@pytest.mark.parametrize(
    "source",
    [
        "{% set x = x | default(true) %}{{ x }}",
        "{% set x = x if x is defined else 1 %}{{ x }}",
        "{% if not x is defined %}{% set x = 1 %}{% endif %}{{ x }}",
        "{% macro f() %}{% if x is undefined %}{% set x = 1 %}{% endif %}{{ x }}{% endmacro %}{{ f() }}",
    ],
)
def test_a_name_with_a_default_is_a_kwarg(source: str) -> None:
    assert "x" in kwargs_of(source)


@pytest.mark.parametrize(
    "source",
    [
        "{% for m in messages %}{% if m.a %}{% set x = m.a %}{% endif %}{{ x }}{% endfor %}",
        "{% for m in messages %}{% set x = x.strip() if x else m.a %}{{ x }}{% endfor %}",
        "{% macro x(a) %}{{ a }}{% endmacro %}{{ x(1) }}",
        "{{ messages }}{{ tools }}{{ add_generation_prompt }}{{ documents }}",
        "{{ raise_exception('x') }}{{ strftime_now('%Y') }}{{ namespace(a=1) }}",
        "{{ bos_token }}",
    ],
)
def test_names_of_the_template_and_of_the_renderer_are_no_kwargs(source: str) -> None:
    assert kwargs_of(source) == {}


def test_special_tokens_are_told_apart() -> None:
    assert free_special_tokens("{{ bos_token }}{{ eos_token }}{{ x }}") == {"bos_token", "eos_token"}


def test_names_that_public_templates_use_come_first() -> None:
    names = ["enable_thinking", "preserve_thinking", "clear_thinking", "truncate_history_thinking", "x"]

    assert [known_first(name) for name in names] == [1, 0, 0, 0, 1]


def test_variables_come_by_name() -> None:
    assert template_variables("{{ b }}{{ a }}") == (
        Variable(name="a", values=(True, False)),
        Variable(name="b", values=(True, False)),
    )
