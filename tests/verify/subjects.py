"""Contracts and runs for the tests of ``titocli.verify``."""

from __future__ import annotations

from collections.abc import Sequence

from titocli.families.family import Family
from titocli.families.registry import get_family
from titocli.families.template_source import TemplateSource, shipped_template
from titocli.jsonvalue import JsonValue, Message
from titocli.verify.checks.catalogue import CHECKS
from titocli.verify.checks.finding import Finding
from titocli.verify.contract import Contract
from titocli.verify.events import Case, CheckFailed, CheckFinished, CheckId, Event, Failure
from titocli.verify.run import Plan, verify
from titocli.verify.states import States
from titocli.verify.target import TargetSpec, contract_of

#: A template that keeps every promise, small enough to be changed in one place.
PLAIN = (
    "{% if tools %}{% for tool in tools %}{{ '<tool>' + (tool | tojson) + '\n' }}{% endfor %}{% endif %}"
    "{% for m in messages %}{{ '<' + m.role + '>' }}"
    "{% if m.reasoning_content %}{{ '<think>' + m.reasoning_content + '</think>' }}{% endif %}"
    "{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function.name ~ (c.function.arguments | tojson) }}"
    "{% endfor %}{{ '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"
)


def edited(source: str, *edits: tuple[str, str]) -> str:
    for old, new in edits:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    return source


def unknown(text: str, **kwargs: JsonValue) -> Contract:
    """A template that titocli does not know."""
    return contract_of(TargetSpec(name="t.jinja", source=TemplateSource("t.jinja", text), kwargs=kwargs))


def plain(*edits: tuple[str, str]) -> Contract:
    return unknown(edited(PLAIN, *edits))


def held(name: str, *edits: tuple[str, str]) -> Contract:
    """A family's own template with edits, held to the family."""
    family = get_family(name)
    source = shipped_template(str(family.template))
    return of_family(family, TemplateSource(source.name, edited(source.text, *edits)))


def of_family(family: Family, source: TemplateSource | None = None) -> Contract:
    return contract_of(TargetSpec(name=family.name, family=family, source=source))


def message(role: str, content: JsonValue = "", **fields: JsonValue) -> Message:
    return {"role": role, "content": content, **fields}


def call(name: str = "f", number: int = 0, **arguments: JsonValue) -> JsonValue:
    function: JsonValue = {"name": name, "arguments": arguments}
    return {"id": f"functions.{name}:{number}", "type": "function", "function": function}


def talk(roles: str) -> tuple[Message, ...]:
    """A conversation from the first letters of its roles, each text its own."""
    names = {"s": "system", "u": "user", "a": "assistant"}
    return tuple(message(names[letter], f"text {number}") for number, letter in enumerate(roles))


def found(contract: Contract, check: CheckId, case: Case | Sequence[Message]) -> Finding | None:
    asked = case if isinstance(case, Case) else Case(name="case", messages=tuple(case))
    return CHECKS[check].find(States(contract, asked))


def events(contract: Contract, **plan: object) -> list[Event]:
    return list(verify(contract, Plan(**{"examples": 5, **plan})))  # type: ignore[arg-type]  # named by the tests


def failures(made: Sequence[Event], check: CheckId | None = None) -> list[Failure]:
    return [
        each.failure for each in made if isinstance(each, CheckFailed) and check in (None, each.failure.check)
    ]


def finished(made: Sequence[Event], check: CheckId) -> CheckFinished:
    return next(each for each in made if isinstance(each, CheckFinished) and each.check is check)
