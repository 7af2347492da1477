"""The kwargs that a template reads, and values worth trying, as its source says.

A name that a template reads from outside is a kwarg, unless the template also gives it a value of its own
in a loop or a macro (there, reading it before that is a slip of its author).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import jinja2.meta
from jinja2 import nodes

from titocli.families.environment import ChatEnvironment
from titocli.families.kwargs import RESERVED
from titocli.jsonvalue import JsonValue

#: What transformers passes to templates from the tokenizer's configuration.
SPECIAL_TOKENS = frozenset(
    {"bos_token", "eos_token", "pad_token", "unk_token", "cls_token", "sep_token", "mask_token"}
)
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,23}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A kwarg of a template, and values to try; strings come first where the template compares with some."""

    name: str
    values: tuple[JsonValue, ...]


def template_variables(source: str) -> tuple[Variable, ...]:
    """The kwargs that a template reads, by name; special tokens and the renderer's own names left out."""
    environment = ChatEnvironment()
    tree = environment.parse(source)
    free = jinja2.meta.find_undeclared_variables(tree) - set(environment.globals)
    names = sorted(free - (_assigned(tree) - _defaulted(tree)) - RESERVED - SPECIAL_TOKENS)
    return tuple(Variable(name=name, values=_values(tree, name)) for name in names)


def free_special_tokens(source: str) -> frozenset[str]:
    """Which of ``bos_token`` and so on a template reads."""
    tree = ChatEnvironment().parse(source)
    return frozenset(jinja2.meta.find_undeclared_variables(tree)) & SPECIAL_TOKENS


def _assigned(tree: nodes.Template) -> set[str]:
    """Names that the template binds somewhere."""
    stored = (name.name for name in tree.find_all(nodes.Name) if name.ctx in ("store", "param"))
    return {*stored, *(macro.name for macro in tree.find_all(nodes.Macro))}


def _defaulted(tree: nodes.Template) -> set[str]:
    """Names that are given a default: from themselves outside of loops, or where they are not defined."""
    own = {target for target, value in _assignments(tree.body) if target in _loaded(value)}
    return own | {name for branch in tree.find_all(nodes.If) for name in _defaulted_by(branch)}


def _defaulted_by(branch: nodes.If) -> set[str]:
    tests = [branch.test, *branch.test.find_all(nodes.Test)]
    tested = {
        test.node.name
        for test in tests
        if isinstance(test, nodes.Test)
        and test.name in ("defined", "undefined", "none")
        and isinstance(test.node, nodes.Name)
    }
    return tested & {target for target, _ in _assignments(branch.body)}


def _outside_loops(statements: Sequence[nodes.Node]) -> Iterator[nodes.Node]:
    for statement in statements:
        yield statement
        if isinstance(statement, nodes.If):
            yield from _outside_loops([*statement.body, *statement.elif_, *statement.else_])


def _assignments(statements: Sequence[nodes.Node]) -> Iterator[tuple[str, nodes.Node]]:
    for node in _outside_loops(statements):
        if isinstance(node, nodes.Assign) and isinstance(node.target, nodes.Name):
            yield node.target.name, node.node


def _loaded(node: nodes.Node) -> set[str]:
    names = {name.name for name in node.find_all(nodes.Name) if name.ctx == "load"}
    return names | ({node.name} if isinstance(node, nodes.Name) else set())


def _values(tree: nodes.Template, name: str) -> tuple[JsonValue, ...]:
    names = _names_for(tree, name)
    compared = _unique([*_defaults(tree, name), *_compared(tree, names)])
    words = [value for value in compared if isinstance(value, str)]
    others = [value for value in compared if not isinstance(value, str)]
    if not words:
        return _unique([True, False, *others])
    # Words of the statement around a comparison: 'high' if effort == 'high' else 'max'.
    return _unique([*words, *_words_nearby(tree, name), *others])


def _unique(values: Iterable[JsonValue]) -> tuple[JsonValue, ...]:
    """Each value once; ``True`` is not ``1``."""
    return tuple({(type(value), value): value for value in values}.values())


def _names_for(tree: nodes.Template, name: str) -> frozenset[str]:
    """The name, and names that are assigned from it."""
    known = {name}
    assignments = [
        (node.target.name, _loaded(node.node))
        for node in tree.find_all(nodes.Assign)
        if isinstance(node.target, nodes.Name)
    ]
    for target, loaded in assignments:
        if name in loaded:
            known.add(target)
    return frozenset(known)


def _defaults(tree: nodes.Template, name: str) -> Iterator[JsonValue]:
    for one in tree.find_all(nodes.Filter):
        if one.name in ("default", "d") and isinstance(one.node, nodes.Name) and one.node.name == name:
            yield from (constant.value for constant in one.args if isinstance(constant, nodes.Const))


def _compared(tree: nodes.Template, names: frozenset[str]) -> Iterator[JsonValue]:
    """Constants that one of the names is compared with or looked up among."""
    tables = dict(_assignments(tree.body))
    for compare in tree.find_all(nodes.Compare):
        sides = [compare.expr, *(operand.expr for operand in compare.ops)]
        if any(names & _loaded(side) for side in sides):
            for side in sides:
                known = tables.get(side.name, side) if isinstance(side, nodes.Name) else side
                yield from _constants(known)


def _constants(node: nodes.Node) -> Iterator[JsonValue]:
    if isinstance(node, nodes.Const):
        yield from node.value if isinstance(node.value, tuple | list) else (node.value,)
    if isinstance(node, nodes.List | nodes.Tuple):
        yield from (item.value for item in node.items if isinstance(item, nodes.Const))
    if isinstance(node, nodes.Dict):
        yield from (pair.key.value for pair in node.items if isinstance(pair.key, nodes.Const))


def _words_nearby(tree: nodes.Template, name: str) -> Iterator[str]:
    for assignment in tree.find_all(nodes.Assign):
        if name in _loaded(assignment.node):
            constants = (constant.value for constant in assignment.node.find_all(nodes.Const))
            yield from (word for word in constants if isinstance(word, str) and _WORD.fullmatch(word))


def known_first(name: str) -> int:
    """0 for names by which public templates keep reasoning, 1 for others."""
    words: Mapping[str, int] = {"preserve": 0, "clear": 0, "truncate": 0, "drop": 0, "keep": 0}
    return min((words.get(part, 1) for part in name.split("_")), default=1)


__all__ = ["SPECIAL_TOKENS", "Variable", "free_special_tokens", "known_first", "template_variables"]
