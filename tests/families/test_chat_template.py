"""The template environment: what transformers' does, with a budget; and where a template failed."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from jinja2.runtime import LoopContext, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from titocli.errors import TemplateRaised, TemplateSyntax, TemplateUnbounded
from titocli.families import environment
from titocli.families.chat_template import compile_template
from titocli.families.environment import ChatEnvironment
from titocli.families.template_source import TemplateSource

HI = [{"role": "user", "content": "hi"}]


def render(source: str, messages: list[Any] | None = None, **kwargs: Any) -> str:
    return compile_template(TemplateSource("t.jinja", source)).render(messages=messages or HI, **kwargs)


@pytest.mark.parametrize(
    ("source", "rendered"),
    [
        ("{% if true %}\n  a\n{% endif %}\nb", "  a\nb"),  # trim_blocks
        ("x\n  {% if true %}y{% endif %}", "x\ny"),  # lstrip_blocks
        ("{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", "01"),
        (
            "{% for i in [1,2,3] %}{{ loop.index }}{{ loop.last }}{{ loop.length }} {% endfor %}",
            "1False3 2False3 3True3 ",
        ),
        ("{% for i in [1,2] %}{{ loop.previtem }}{{ loop.nextitem }} {% endfor %}", "2 1 "),
        ("{% for k, v in {'a': 1}|items %}{{ k }}{{ v }}{% endfor %}", "a1"),
        ("{% for i in [] %}{{ i }}{% else %}none{% endfor %}", "none"),
        ("{% for i in nothing %}{{ i }}{% endfor %}.", "."),
        ("{% generation %}{{ messages[0].content }}{% endgeneration %}", "hi"),
        ("{{ tools is none }}{{ documents is none }}{{ add_generation_prompt }}", "TrueTrueFalse"),
        ("{{ strftime_now('%Y')|length }}", "4"),
    ],
)
def test_the_environment_is_that_of_transformers(source: str, rendered: str) -> None:
    assert render(source) == rendered


def test_tojson_escapes_nothing_and_keeps_order() -> None:
    value = {"z": "<&'é\u2028", "a": [1, 1.0, True, None]}

    assert render("{{ v|tojson }}", v=value) == json.dumps(value, ensure_ascii=False)
    assert render("{{ v|tojson(indent=2, sort_keys=true) }}", v=value) == json.dumps(
        value, ensure_ascii=False, indent=2, sort_keys=True
    )


def test_the_sandbox_holds() -> None:
    for attempt in ("{{ ''.__class__.__mro__ }}", "{{ messages.append(1) }}", "{{ render.__globals__ }}"):
        with contextlib.suppress(TemplateRaised):
            assert render(attempt) == ""


def test_the_quick_ways_to_an_attribute_answer_as_the_sandbox_does() -> None:
    quick, slow = ChatEnvironment(), ImmutableSandboxedEnvironment()
    loops = [LoopContext([1, 2], quick.undefined), LoopContext((), quick.undefined)]
    message = {"role": "user", "keys": 1, "_x": 2, "__class__": 3, "first": 4, "": 5, "none": None}
    for value in (message, {}, "text", [1], None, *loops):
        for name in (*message, *dir(value), *dir(loops[0]), "content"):
            found, judged = quick.getattr(value, name), slow.getattr(value, name)
            assert type(found) is type(judged), (value, name)
            if isinstance(found, Undefined):
                assert found._undefined_message == judged._undefined_message
                assert found._undefined_exception is judged._undefined_exception
            elif not callable(found):
                assert found == judged


@pytest.mark.parametrize(
    ("source", "line", "column"),
    [
        ("{% if %}", 1, 7),
        ("ok\n{{ a b }}", 2, 6),
        ("{# c #}\n\n  {% for x messages %}", 3, 12),
        ("{{ 'a' }}\n{% unknown %}", 2, 4),
        ("{{ a ! }}", 1, 6),
        ("a\n{%- if x -%}\n  b\n{%- endfor -%}", 4, 5),
        ("é{{ 'ü' }} {{ ) }}", 1, 15),
    ],
)
def test_a_syntax_error_has_file_line_and_column(source: str, line: int, column: int) -> None:
    with pytest.raises(TemplateSyntax) as failed:
        render(source)

    assert failed.value.details == {"file": "t.jinja", "line": line, "column": column}
    assert failed.value.message.startswith(f"t.jinja:{line}:{column}: ")


def test_an_unclosed_block_is_a_syntax_error() -> None:
    with pytest.raises(TemplateSyntax) as failed:
        render("{% if true %}\n")

    assert failed.value.details["file"] == "t.jinja"


GUARDED = """{% for message in messages %}
{% if message.role == 'tool' %}
{{ raise_exception('no tools here') }}
{% endif %}
{{ message.content + '' }}
{% endfor %}"""


def test_a_template_that_raises_tells_line_and_message() -> None:
    messages = [*HI, {"role": "tool", "content": "x"}, *HI]
    with pytest.raises(TemplateRaised) as failed:
        render(GUARDED, messages)

    assert failed.value.details == {"file": "t.jinja", "line": 3, "message_index": 1}
    assert failed.value.message == "t.jinja:3: the template raised at message 1 (tool): no tools here"


def test_a_type_error_is_a_template_error_too() -> None:
    with pytest.raises(TemplateRaised) as failed:
        render(GUARDED, [*HI, {"role": "user", "content": 7}])

    assert (failed.value.details["line"], failed.value.details["message_index"]) == (5, 1)


def test_an_error_that_could_quote_content_is_shown_by_its_kind_only() -> None:
    with pytest.raises(TemplateRaised) as failed:
        render("{{ messages[0].content|int // 0 }}", [{"role": "user", "content": "secret"}])

    assert "secret" not in failed.value.message
    assert "ZeroDivisionError" in failed.value.message


def test_a_template_that_always_raises_blames_no_message() -> None:
    with pytest.raises(TemplateRaised) as failed:
        render("{{ raise_exception('never') }}", HI * 3)

    assert failed.value.details["message_index"] is None


@pytest.mark.parametrize(
    "source",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% macro m() %}{% for a in range(9999) %}x{% endfor %}{% endmacro %}{{ m() * 1 }}{{ m() }}"
        "{% for a in range(9999) %}{{ m()|length }}{% endfor %}",
        "{{ 'x' * 1000000000000 }}",
        "{{ 1000000000000 * [1] }}",
        "{{ 9 ** 999999999 }}",
    ],
)
def test_a_template_without_end_is_stopped(source: str) -> None:
    with pytest.raises(TemplateUnbounded):
        render(source)


def test_the_budget_is_per_render(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "WORK_LIMIT", 100)
    template = compile_template(TemplateSource("t", "{% for m in messages %}{% endfor %}"))

    for _ in range(3):
        template.render(messages=HI * 100)
    with pytest.raises(TemplateUnbounded):
        template.render(messages=HI * 101)


def test_output_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("titocli.families.chat_template.OUTPUT_LIMIT", 10)

    with pytest.raises(TemplateUnbounded):
        render("{% for m in range(11) %}x{% endfor %}")


def test_a_templates_variables_are_those_it_reads() -> None:
    template = compile_template(
        TemplateSource("t", "{{ messages }}{% if enable_thinking %}{{ range(1) }}{% endif %}")
    )

    assert template.variables == {"messages", "enable_thinking"}
