"""Which line of a template printed which character.

A compiled template yields its output piece by piece; between two pieces, the line at which it waits is the
line that printed the last one.  What a macro prints belongs to the line that calls it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import GeneratorType
from typing import Any, cast

import jinja2
from jinja2 import nodes
from jinja2.runtime import Context
from jinja2.visitor import NodeTransformer

from titocli.families.environment import ChatEnvironment
from titocli.families.template_source import TemplateSource
from titocli.jsonvalue import JsonValue, Message, Tool
from titocli.verify.events import TemplateLine


@jinja2.pass_context
def _traced(_: Context, value: Any) -> Any:
    """What is printed, kept from being put together with its neighbours before the template runs."""
    return value


class _PrintOneByOne(NodeTransformer):
    """Each piece of output on its own, with its own line: also text that stands in the template itself."""

    def visit_Output(self, node: nodes.Output) -> nodes.Node:  # noqa: N802 - the visitor's naming
        self.generic_visit(node)
        node.nodes = [
            nodes.Filter(each, "_traced", [], [], None, None, lineno=each.lineno) for each in node.nodes
        ]
        return node


class _TracingEnvironment(ChatEnvironment):
    """As every template's environment, for templates whose output is watched."""

    def __init__(self) -> None:
        super().__init__()
        self.filters["_traced"] = _traced

    def _generate(self, source: nodes.Template, *args: Any, **kwargs: Any) -> str:
        _PrintOneByOne().visit(source)
        return super()._generate(source, *args, **kwargs)


@lru_cache(maxsize=8)
def _compiled(name: str, text: str) -> jinja2.Template:
    environment = _TracingEnvironment()
    code = environment.compile(text, name=name, filename=name)
    return environment.template_class.from_code(environment, code, environment.make_globals(None))


@dataclass(slots=True)
class TracedTemplate:
    """A conversation template that remembers, for its last render, where each piece came from."""

    source: TemplateSource
    #: Where each piece ends in the text, and its line from 1.
    pieces: list[tuple[int, int]] = field(default_factory=list)
    _texts: list[str] = field(default_factory=list)
    _used: TemplateSource | None = None

    @property
    def variables(self) -> frozenset[str]:
        """None are needed to trace."""
        return frozenset()

    def render(
        self,
        *,
        messages: Sequence[Message],
        tools: Sequence[Tool] = (),
        add_generation_prompt: bool = False,
        **kwargs: JsonValue,
    ) -> str:
        """The text, as the template itself renders it; raises whatever the template raises."""
        used = self._used = self.source.for_tools if self.source.for_tools and tools else self.source
        template = _compiled(used.name, used.text)
        context = template.new_context(
            {
                **kwargs,
                "messages": list(messages),
                "tools": list(tools) or None,
                "documents": None,
                "add_generation_prompt": add_generation_prompt,
            }
        )
        self.pieces.clear()
        self._texts.clear()
        output = cast("GeneratorType[str, None, None]", template.root_render_func(context))
        size = 0
        for piece in output:
            frame = output.gi_frame
            line = template.get_corresponding_lineno(frame.f_lineno) if frame else 0
            size += len(piece)
            self.pieces.append((size, line))
            self._texts.append(piece)
        return "".join(self._texts)

    def line_of(self, character: int) -> TemplateLine | None:
        """The line that printed a character of the last render; the last one's for what comes after it."""
        if not self.pieces or self._used is None:
            return None
        index = next((n for n, (end, _) in enumerate(self.pieces) if character < end), len(self.pieces) - 1)
        start = self.pieces[index - 1][0] if index else 0
        lines = self._used.text.split("\n")
        line = self._inside(lines, index, character - start)
        if not 1 <= line <= len(lines):
            return None
        return TemplateLine(file=self._used.name, line=line, text=lines[line - 1])

    def _inside(self, lines: Sequence[str], index: int, offset: int) -> int:
        """The line inside a piece of the template's own text that runs over several lines."""
        first, text = self.pieces[index][1], self._texts[index]
        line = first + text[:offset].count("\n")
        own = text.split("\n")[line - first] if line - first < text.count("\n") + 1 else ""
        within = first <= line <= len(lines) and own.strip() and own.strip() in lines[line - 1]
        return line if within else first


__all__ = ["TracedTemplate"]
