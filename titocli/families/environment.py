"""The Jinja environment of chat templates, as transformers 5.24 builds it, with a budget of work.

Sandboxed and immutable, ``trim_blocks``, ``lstrip_blocks``, loop controls, ``tojson`` without HTML
escaping, ``raise_exception``, ``strftime_now``, the ``generation`` tag (which only groups).  Unlike
transformers', a render counts loop steps and calls and stops at a limit, so that no template runs for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, NoReturn

import jinja2
import jinja2.ext
from jinja2 import nodes
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from titocli.families.json_text import to_json

#: Loop steps and calls of one render.  The largest real histories (1,000 turns) need about 100,000.
WORK_LIMIT = 3_000_000
#: Characters that one repetition (``"x" * n``) may make.
REPEAT_LIMIT = 10_000_000
#: Binary digits that one power may have.
POWER_LIMIT = 100_000


class BudgetSpent(Exception):
    """A render used up its budget; never shown to a user as it is."""


class _CountingContext(Context):
    """A render's context; it carries the render's budget."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.work_left = WORK_LIMIT

    def spend(self) -> None:
        self.work_left -= 1
        if self.work_left < 0:
            raise BudgetSpent


@jinja2.pass_context
def _counted(context: Context, items: Iterable[Any]) -> Iterator[Any]:
    """The items of a loop, each taken from the budget."""
    spend = context.spend if isinstance(context, _CountingContext) else lambda: None
    for item in items:
        spend()
        yield item


class _CountLoops(NodeTransformer):
    """Sends what each ``for`` iterates over through ``_counted``."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - the visitor's naming
        self.generic_visit(node)
        node.iter = nodes.Filter(node.iter, "_counted", [], [], None, None, lineno=node.lineno)
        return node


class _GenerationTag(jinja2.ext.Extension):
    """``{% generation %}...{% endgeneration %}``: prints its body, in a scope of its own."""

    tags = {"generation"}  # noqa: RUF012 - declared so by the base class

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_print"), [], [], body).set_lineno(line)

    def _print(self, caller: Callable[[], str]) -> str:
        return caller()


class ChatEnvironment(ImmutableSandboxedEnvironment):
    """The environment that every chat template is compiled in."""

    context_class = _CountingContext
    intercepted_binops = frozenset(("*", "**"))

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True, lstrip_blocks=True, extensions=[_GenerationTag, jinja2.ext.loopcontrols]
        )
        self.filters["tojson"] = _to_json
        self.filters["_counted"] = _counted
        self.globals["raise_exception"] = _raise_exception
        self.globals["strftime_now"] = _strftime_now

    def _generate(self, source: nodes.Template, *args: Any, **kwargs: Any) -> str:
        _CountLoops().visit(source)
        return super()._generate(source, *args, **kwargs)

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call something a template names; counts against the budget (recursion through macros)."""
        if isinstance(context, _CountingContext):
            context.spend()
        return super().call(context, obj, *args, **kwargs)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """``*`` and ``**`` within limits."""
        if _too_large(operator, left, right):
            raise BudgetSpent
        return super().call_binop(context, operator, left, right)


def _too_large(operator: str, left: Any, right: Any) -> bool:
    if operator == "**":
        return isinstance(right, int) and isinstance(left, int) and left.bit_length() * right > POWER_LIMIT
    for items, count in ((left, right), (right, left)):
        if isinstance(items, (str, list, tuple)) and isinstance(count, int):
            return len(items) * count > REPEAT_LIMIT
    return False


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return to_json(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _raise_exception(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _strftime_now(form: str) -> str:
    # Local time without a zone, as transformers gives it to templates.
    return datetime.now().strftime(form)


__all__ = ["BudgetSpent", "ChatEnvironment"]
