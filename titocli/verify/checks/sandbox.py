"""sandbox: the template leaves its input alone and keeps its hands off Python's own names.

The source is read too, for a branch that no conversation reaches is still a branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache

from jinja2 import nodes

from titocli.families.environment import ChatEnvironment
from titocli.verify.checks.finding import Check, Finding
from titocli.verify.events import CheckId, FailureKind, TemplateLine
from titocli.verify.states import Shown, States

#: Methods that change a list, a dict or a set.
_MUTATING = frozenset(
    {"add", "append", "clear", "discard", "extend", "insert", "pop", "popitem"}
    | {"remove", "reverse", "setdefault", "sort", "update"}
)
#: Messages of a conversation that is rendered once more to see what becomes of it.
_SHORT = 6
_LOADING = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)
_PYTHON = ("__class__", "__globals__", "__subclasses__", "__mro__", "__init__", "__builtins__", "__import__")


@dataclass(frozen=True, slots=True)
class Construct:
    """A construct that has no place in a chat template, and its line."""

    line: int
    what: str


def _find(states: States) -> Finding | None:
    return _forbidden(states) or _changed_input(states)


def _forbidden(states: States) -> Finding | None:
    target = states.contract.target
    found = forbidden_constructs(target.source)
    if not found:
        return None
    first = found[0]
    lines = target.source.split("\n")
    text = lines[first.line - 1] if first.line <= len(lines) else ""
    return Finding(
        kind=FailureKind.SANDBOX_ESCAPE,
        sentence=f"{target.template}:{first.line}: the template {first.what}",
        expected="",
        actual=text,
        at=0,
        line=TemplateLine(file=target.template, line=first.line, text=text),
    )


def _changed_input(states: States) -> Finding | None:
    if states.case.name.startswith("generated") or len(states.roles) > _SHORT:
        return None  # what a template does to its input it does to a short one
    messages, tools = deepcopy(states.messages), deepcopy(states.tools)
    text = states.rendered_by(states.contract.fresh, Shown(len(states.roles), generation_prompt=True))
    if (messages, tools) == (states.messages, states.tools):
        return None
    return Finding(
        kind=FailureKind.SANDBOX_ESCAPE,
        sentence="a render changed the messages or the tools that it was given",
        expected="",
        actual=text,
        at=0,
        actual_from=Shown(len(states.roles), generation_prompt=True),
    )


@lru_cache(maxsize=64)
def forbidden_constructs(source: str) -> tuple[Construct, ...]:
    """Everything in a template that reaches for Python, for files or for its own input, by line."""
    if not source:
        return ()
    tree = ChatEnvironment().parse(source)
    found = {one for node in tree.find_all(nodes.Node) for one in _of_node(node)}
    return tuple(sorted(found, key=lambda one: (one.line, one.what)))


def _of_node(node: nodes.Node) -> Iterator[Construct]:
    if isinstance(node, nodes.Getattr) and node.attr.startswith("_"):
        yield Construct(node.lineno, f"reads the attribute {node.attr}")
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr) and node.node.attr in _MUTATING:
        yield Construct(node.lineno, f"calls {node.node.attr}(), which changes what it is called on")
    if (
        isinstance(node, nodes.Const)
        and isinstance(node.value, str)
        and any(name in node.value for name in _PYTHON)
    ):
        yield Construct(node.lineno, "spells a name of Python's object model")
    if isinstance(node, _LOADING):
        yield Construct(node.lineno, "loads another template")


SANDBOX = Check(id=CheckId.SANDBOX, find=_find)

__all__ = ["SANDBOX", "Construct", "forbidden_constructs"]
