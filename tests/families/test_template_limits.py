"""A template cannot run for ever, eat the memory or leave its sandbox, by any of the ways that Jinja gives."""

from __future__ import annotations

import resource
import time
from copy import deepcopy
from datetime import datetime
from typing import Any

import pytest

from titocli.errors import TemplateRaised, TemplateUnbounded
from titocli.families import environment
from titocli.families.chat_template import compile_template
from titocli.families.sizes import ITEM_LIMIT, TEXT_LIMIT, BudgetSpent, Weights, refuse_format
from titocli.families.template_source import TemplateSource

HI = [{"role": "user", "content": "hi"}]
#: Megabytes that a render may take before it is stopped.
MEMORY = 400


def render(source: str, **kwargs: Any) -> str:
    return compile_template(TemplateSource("t.jinja", source)).render(messages=HI, **kwargs)


def doubled(step: str) -> str:
    """A template that does ``step`` on ``ns.x`` so often that doubling makes 2**50 of it."""
    return (
        "{% set ns = namespace(x='ab', l=[1]) %}{% for _ in range(50) %}"
        + step
        + "{% endfor %}{{ ns.x }}{{ ns.l }}"
    )


UNBOUNDED = {
    "doubling by ~": doubled("{% set ns.x = ns.x ~ ns.x %}"),
    "doubling by +": doubled("{% set ns.x = ns.x + ns.x %}"),
    "doubling a list by +": doubled("{% set ns.l = ns.l + ns.l %}"),
    "doubling by a block": doubled("{% set ns.x %}{{ ns.x }}{{ ns.x }}{% endset %}"),
    "doubling by a macro": "{% macro m(a) %}{{ a }}{{ a }}{% endmacro %}"
    + doubled("{% set ns.x = m(ns.x) %}"),
    "doubling by join": doubled("{% set ns.x = [ns.x, ns.x]|join %}"),
    "doubling by str.join": doubled("{% set ns.x = ns.x.join(['', ns.x]) %}"),
    "doubling by replace": doubled("{% set ns.x = ns.x|replace('b', ns.x) %}"),
    "doubling by str.replace": doubled("{% set ns.x = ns.x.replace('b', ns.x) %}"),
    "doubling by format": doubled("{% set ns.x = '%s%s'|format(ns.x, ns.x) %}"),
    "doubling by %": doubled("{% set ns.x = '%s%s' % (ns.x, ns.x) %}"),
    "doubling by str.format": doubled("{% set ns.x = '{0}{0}'.format(ns.x) %}"),
    "doubling by format_map": doubled("{% set ns.x = '{a}{a}'.format_map({'a': ns.x}) %}"),
    "doubling by translate": doubled("{% set ns.x = ns.x.translate({97: ns.x}) %}"),
    "doubling by indent": doubled("{% set ns.x = ('\\n' ~ ns.x)|indent(ns.x) %}"),
    "nesting lists": doubled("{% set ns.l = [ns.l, ns.l] %}"),
    "nesting objects": doubled("{% set ns.l = {'a': ns.l, 'b': ns.l} %}"),
    "nesting by dict()": doubled("{% set ns.l = dict(a=ns.l, b=ns.l) %}"),
    "nesting behind a filter": doubled("{% set ns.l = [ns.l, ns.l]|list %}"),
    "squaring": "{% set ns = namespace(n=99) %}{% for _ in range(60) %}{% set ns.n = ns.n * ns.n %}{% endfor %}",
    "power": "{{ 9 ** 999999999 }}",
    "center": "{{ 'x'|center(10**9) }}",
    "str.center": "{{ 'x'.center(10**9) }}",
    "str.ljust": "{{ 'x'.ljust(10**9) }}",
    "str.rjust": "{{ 'x'.rjust(width=10**9) if false else 'x'.rjust(10**9) }}",
    "str.zfill": "{{ 'x'.zfill(10**9) }}",
    "expandtabs": "{{ '\\t'.expandtabs(10**9) }}",
    "bytes": "{{ 'x'.encode().center(10**9) }}",
    "to_bytes": "{{ (5).to_bytes(10**9, 'big') }}",
    "a wide %": "{{ '%1000000000d' % 1 }}",
    "a wide % by argument": "{{ '%*d' % (10**9, 1) }}",
    "a wide format": "{{ '{:1000000000}'.format(1) }}",
    "a wide format by argument": "{{ '{:{}}'.format(1, 10**9) }}",
    "a wide format filter": "{{ '%1000000000d'|format(1) }}",
    "rounding": "{{ 1|round(10**9, 'floor') }}",
    "rounding down": "{{ 5|round(-(10**9)) }}",
    "batch": "{{ [1]|batch(10**9, 'x')|list }}",
    "slice": "{{ [1]|slice(10**9)|list }}",
    "indent": "{{ 'a\\nb'|indent(10**9) }}",
    "tojson": "{{ [1]|tojson(indent=10**9) }}",
    "separators": "{% set s = 'x' * 10**6 %}{{ ([0] * 10**5)|tojson(separators=(s, s)) }}",
    "repeated list": "{{ [1] * 10**10 }}",
    "repeated list of long texts": "{% set s = 'x' * 10**7 %}{{ [s] * 10**5 }}",
    "long date": "{{ strftime_now('%A' * 10**6) }}",
    "loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "a recursive loop": "{% for a in range(99999) recursive %}{% if loop.depth < 4 %}{{ loop(range(99999)) }}"
    "{% endif %}{% endfor %}",
}


@pytest.mark.parametrize("name", list(UNBOUNDED))
def test_a_template_that_grows_without_end_is_stopped_before_the_memory_is_gone(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "TIME_LIMIT_SECONDS", 3)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(TemplateUnbounded):
        render(UNBOUNDED[name])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY * 2**10


@pytest.mark.case("d02")
@pytest.mark.parametrize(
    "source",
    [
        "{{ lipsum(n=10**9) }}",
        "{{ range(10**9) }}",
        "{{ lipsum.__globals__['os'].popen('id').read() }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ messages|map(attribute='__class__')|map(attribute='__mro__')|list|join }}",
        "{{ messages.append(1) }}",
        "{{ messages[0].update(role='x') }}",
        "{{ messages[0].pop('role') }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ joiner.__init__.__globals__ }}",
        "{{ namespace.__init__.__globals__ }}",
        "{{ self.__init__.__globals__ }}",
        "{{ self._TemplateReference__context.environment.__class__ }}",
        "{{ raise_exception.__globals__.os }}",
        "{{ strftime_now.__globals__.sys }}",
        "{{ (messages|map('string')).gi_frame.f_globals }}",
        "{{ '{0.__class__.__mro__}'.format(messages) }}",
        "{{ '{0.__class__.__mro__}'.format_map({'0': messages}) }}",
        "{% macro m() %}{{ caller.__globals__.x }}{% endmacro %}{% call m() %}{% endcall %}",
        "{% include '/etc/hostname' %}",
        "{% import 'os' as os %}{{ os }}",
    ],
)
def test_an_attempt_to_leave_the_sandbox_raises_with_the_templates_name(source: str) -> None:
    with pytest.raises(TemplateRaised, match=r"t\.jinja"):
        render(source)


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages|attr('__class__')|attr('__mro__') }}",
        "{{ messages[0]['__class__']['x'] if messages[0]['__class__'] else '' }}",
        "{{ messages|map('attr', '__class__')|join }}",
    ],
)
def test_an_attempt_that_does_not_raise_renders_nothing(source: str) -> None:
    assert render(source) == ""


@pytest.mark.case("d02")
def test_the_input_is_the_same_after_every_attempt() -> None:
    messages: Any = [{"role": "user", "content": ["a"], "tool_calls": {"b": 1}}]
    before = deepcopy(messages)
    for attempt in (
        "messages.append(1)",
        "messages[0].clear()",
        "messages[0].content.pop()",
        "messages.sort()",
    ):
        with pytest.raises(TemplateRaised):
            compile_template(TemplateSource("t", f"{{{{ {attempt} }}}}")).render(messages=messages)
    assert messages == before


def test_a_format_string_cannot_read_attributes() -> None:
    assert "class" not in render("{{ '{0}'.format(messages[0].role) }}")
    with pytest.raises(TemplateRaised):
        render("{{ '{0.__class__}'.format(messages) }}{{ ''.__class__.__mro__ }}")


@pytest.mark.parametrize(
    ("source", "rendered"),
    [
        ("{{ 'a' ~ 1 ~ none ~ missing }}", "a1None"),
        ("{{ [1, 'a'] + [messages[0].role] }}", "[1, 'a', 'user']"),
        ("{{ {'k': messages[0].content}['k'] }}", "hi"),
        ("{% for a, b in [(1, 2), (messages|length, 4)] %}{{ a }}{{ b }} {% endfor %}", "12 14 "),
        ("{{ 'ab'.center(6) }}|{{ 'x'|center(3) }}|{{ 'a\nb'|indent(2) }}", "  ab  | x |a\n  b"),
        (
            "{{ '%s-%05d' % ('a', 7) }} {{ '%.2f'|format(1.5) }} {{ '{:>4}'.format('x') }}",
            "a-00007 1.50    x",
        ),
        ("{{ 'total 1234567 of %s' % 2 }}", "total 1234567 of 2"),
        (
            "{{ 'a.b'|replace('.', '-') }} {{ ['a', 'b']|join('+') }} {{ 'a-b'.replace('-', '') }}",
            "a-b a+b ab",
        ),
        ("{{ messages|map(attribute='role')|join(',') }}", "user"),
        ("{{ [1, 2, 3]|batch(2, 0)|list }} {{ 2.345|round(2) }}", "[[1, 2], [3, 0]] 2.35"),
        ("{{ 2 ** 10 * 3 + 7 % 4 }}", "3075"),
        ("{% for a in [1, [2, 3]] recursive %}{{ a if a is number else loop(a) }}{% endfor %}", "123"),
        ("{{ namespace(a=messages) }}", "<Namespace>"),
        ("{{ [1]|tojson(indent=2, separators=(',', ': ')) }}", "[\n  1\n]"),
    ],
)
def test_what_templates_do_every_day_still_works(source: str, rendered: str) -> None:
    assert render(source) == rendered


def test_long_conversations_are_far_from_every_limit() -> None:
    messages = [{"role": "user", "content": "x" * 5_000} for _ in range(1_000)]
    source = (
        "{% set ns = namespace(all='', seen=[]) %}{% for m in messages %}{% set ns.all = ns.all ~ m.content %}"
        "{% set ns.seen = ns.seen + [m.role] %}{{ m.role + '\n' + m.content }}{% endfor %}{{ ns.seen|length }}"
    )
    started = time.process_time()
    text = compile_template(TemplateSource("t", source)).render(messages=messages)
    assert text.endswith("1000")
    assert time.process_time() - started < 10


def test_a_template_that_is_only_slow_is_stopped_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "TIME_LIMIT_SECONDS", 0.05)
    slow = "{% set s = 'x' * 10**6 %}{% for _ in range(99999) %}{% if s.upper().lower() == 'y' %}{% endif %}{% endfor %}"
    started = time.monotonic()
    with pytest.raises(TemplateUnbounded):
        render(slow)
    assert time.monotonic() - started < 10


def test_the_clock_can_be_another() -> None:
    source = TemplateSource("t", "{{ strftime_now('%Y-%m-%d') }}")
    template = compile_template(source, clock=lambda: datetime(2001, 2, 3))
    assert template.render(messages=HI) == "2001-02-03"


def test_a_shared_part_is_counted_each_time_and_looked_at_once() -> None:
    value: list[Any] = ["x"]
    for _ in range(60):
        value = [value, value]
    weights = Weights()
    assert weights.of(value) > 2**60
    with pytest.raises(BudgetSpent):
        weights.checked(value)
    assert weights.checked(["a", {"b": "c"}]) == ["a", {"b": "c"}]


def test_the_weight_of_a_list_counts_its_texts_by_their_length() -> None:
    assert Weights().of(["x" * 2_500, 1]) == 1 + 3 + 1
    assert Weights().of({"k": "v"}) == 1 + 1 + 1
    assert ITEM_LIMIT * 1_000 > TEXT_LIMIT


def test_a_plain_format_passes() -> None:
    refuse_format("%s is 123456789", ("x",))
    with pytest.raises(BudgetSpent):
        refuse_format("%0123456d", (1,))
