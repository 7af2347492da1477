"""The Jinja environment of chat templates, as transformers 5.24 builds it, with a budget of work.

Sandboxed and immutable, ``trim_blocks``, ``lstrip_blocks``, loop controls, ``tojson`` without HTML
escaping, ``raise_exception``, ``strftime_now``, the ``generation`` tag (which only groups).  Unlike
transformers', a render counts loop steps and calls, looks at sizes before it makes them
(``titocli.families.sizes``) and stops at a limit, so that no template runs for ever or eats the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from time import monotonic
from typing import Any, NoReturn

import jinja2
import jinja2.ext
from jinja2 import nodes
from jinja2.parser import Parser
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

from titocli.families.bounded_filters import bounded_filters
from titocli.families.json_text import to_json
from titocli.families.sizes import TEXT_LIMIT, BudgetSpent, Weights, refuse_call, refuse_text

#: Loop steps and calls of one render.  The largest real histories (1,000 turns) need about 100,000.
WORK_LIMIT = 3_000_000
#: Seconds that one render may take.
TIME_LIMIT_SECONDS = 30.0
#: The clock is looked at every so many steps.
_STEPS_PER_LOOK = 64
#: Putting texts together costs one step for so many characters.
_CHARACTERS_PER_STEP = 10_000
#: Characters of a date's format, and of the indentation and separators of JSON.
_DATE_FORM_LIMIT, _JSON_LAYOUT_LIMIT = 200, 100
#: Names that the sandbox judges; any other name of an object is a key.
_DICT_ATTRIBUTES = frozenset(dir(dict))
#: Numbers and truth values, so nothing in them to judge.
_LOOP_NUMBERS = frozenset(("first", "last", "index", "index0", "revindex", "revindex0", "length"))


class _CountingContext(Context):
    """A render's context; it carries the render's budget."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.work_left = WORK_LIMIT
        self.deadline = monotonic() + TIME_LIMIT_SECONDS
        self.weights = Weights()

    def spend(self, steps: int = 1) -> None:
        self.work_left -= steps
        if self.work_left < 0 or (self.work_left % _STEPS_PER_LOOK == 0 and monotonic() > self.deadline):
            raise BudgetSpent


def _spend(context: Context, steps: int = 1) -> None:
    if isinstance(context, _CountingContext):
        context.spend(steps)


def _weights(context: Context) -> Weights:
    return context.weights if isinstance(context, _CountingContext) else Weights()


@jinja2.pass_context
def _counted(context: Context, items: Iterable[Any]) -> Iterator[Any]:
    """The items of a loop, each taken from the budget."""
    for item in items:
        _spend(context)
        yield item


@jinja2.pass_context
def _joined(context: Context, parts: Sequence[Any]) -> str:
    """What ``~`` does, within limits."""
    texts = [str(part) for part in parts]
    size = sum(map(len, texts))
    refuse_text(size)
    _spend(context, size // _CHARACTERS_PER_STEP)
    return "".join(texts)


@jinja2.pass_context
def _weighed(context: Context, value: Any) -> Any:
    """A list or an object that a template spells, within limits."""
    return _weights(context).checked(value)


class _Bound(NodeTransformer):
    """Sends what can grow through a filter that counts: loops, ``~``, lists and objects."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - the visitor's naming
        self.generic_visit(node)
        node.iter = _filtered(node.iter, "_counted")
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _filtered(nodes.List(node.nodes, lineno=node.lineno), "_joined")

    def visit_List(self, node: nodes.List) -> nodes.Node:  # noqa: N802
        return self._literal(node)

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:  # noqa: N802
        return self._literal(node) if node.ctx == "load" else node

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:  # noqa: N802
        return self._literal(node)

    def _literal(self, node: nodes.List | nodes.Tuple | nodes.Dict) -> nodes.Node:
        if not any(
            isinstance(each, (nodes.Name, nodes.Getattr, nodes.Getitem)) for each in node.find_all(nodes.Expr)
        ):
            return node  # nothing in it can be large
        self.generic_visit(node)
        return _filtered(node, "_weighed")


def _filtered(node: nodes.Node, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


class _GenerationTag(jinja2.ext.Extension):
    """``{% generation %}...{% endgeneration %}``: prints its body, in a scope of its own."""

    tags = {"generation"}  # noqa: RUF012 - declared so by the base class

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_print"), [], [], body).set_lineno(line)

    def _print(self, caller: Callable[[], str]) -> str:
        return caller()


class _Namespace(Namespace):
    """``namespace()``: a render may print it, but not all that is in it."""

    def __repr__(self) -> str:
        return "<Namespace>"


class ChatEnvironment(ImmutableSandboxedEnvironment):
    """The environment that every chat template is compiled in; ``clock`` is what ``strftime_now`` reads."""

    context_class = _CountingContext
    intercepted_binops = frozenset(("+", "*", "**", "%"))

    def __init__(self, clock: Callable[[], datetime] = datetime.now) -> None:
        super().__init__(
            trim_blocks=True, lstrip_blocks=True, extensions=[_GenerationTag, jinja2.ext.loopcontrols]
        )
        self.filters |= bounded_filters(self.filters)
        self.filters |= {"tojson": _to_json, "_counted": _counted, "_joined": _joined, "_weighed": _weighed}
        self.globals["namespace"] = _Namespace
        self.globals["raise_exception"] = _raise_exception
        # Local time without a zone, as transformers gives it to templates.
        self.globals["strftime_now"] = lambda form: clock().strftime(_short(form))
        # Random text of any length: nothing that a chat template is for.
        del self.globals["lipsum"]

    def _generate(self, source: nodes.Template, *args: Any, **kwargs: Any) -> str:
        _Bound().visit(source)
        return super()._generate(source, *args, **kwargs)

    @staticmethod
    def concat(pieces: Iterable[str]) -> str:
        """What a block, a macro or a whole template printed, within limits."""
        texts = list(pieces)
        refuse_text(sum(map(len, texts)))
        return "".join(texts)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """What Jinja's sandbox answers; keys and the numbers of a loop, nearly all there is, at once."""
        if type(obj) is dict and attribute not in _DICT_ATTRIBUTES:
            return obj[attribute] if attribute in obj else self.undefined(obj=obj, name=attribute)
        if type(obj) is LoopContext and attribute in _LOOP_NUMBERS:
            return getattr(obj, attribute)
        return super().getattr(obj, attribute)

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call something a template names; counts against the budget (recursion through macros)."""
        _spend(context)
        if isinstance(obj, Macro):
            return super().call(context, obj, *args, **kwargs)
        refuse_call(obj, args, kwargs)
        if isinstance(obj, LoopContext) and args:
            # A recursive loop iterates over what it is called with.
            args = (_counted(context, args[0]), *args[1:])
        result = super().call(context, obj, *args, **kwargs)
        return _weights(context).checked(result) if isinstance(result, dict) else result

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """``+``, ``*``, ``**`` and ``%`` within limits."""
        if operator == "+" and type(left) is type(right) is str:
            # By far the most of them, so without any detour.
            joined = left + right
            if len(joined) > TEXT_LIMIT:
                raise BudgetSpent
            return joined
        _weights(context).refuse_operation(operator, left, right)
        return super().call_binop(context, operator, left, right)


def _short(form: str) -> str:
    if len(form) > _DATE_FORM_LIMIT:
        raise BudgetSpent
    return form


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    if max((indent or 0, *map(len, separators or ()))) > _JSON_LAYOUT_LIMIT:
        raise BudgetSpent
    return to_json(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _raise_exception(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


__all__ = ["BudgetSpent", "ChatEnvironment"]
