"""A compiled chat template: renders messages to text, and says where it failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from types import TracebackType
from typing import Protocol

import jinja2
import jinja2.meta

from titocli.errors import InputError, TemplateRaised, TemplateSyntax, TemplateUnbounded
from titocli.families.environment import BudgetSpent, ChatEnvironment
from titocli.families.syntax import syntax_error_column
from titocli.families.template_source import TemplateSource
from titocli.jsonvalue import JsonValue, Message, Tool

#: Characters of one rendered conversation.
OUTPUT_LIMIT = 200_000_000
#: Renders that the search for the message at fault may take.
_SEARCH_LIMIT = 200
#: Characters of a template's own error message that are shown.
_SHOWN_LIMIT = 200


class ConversationTemplate(Protocol):
    """What turns messages into text: a Jinja template, or an encoder in Python."""

    @property
    def source(self) -> TemplateSource:
        """Where it comes from; its name is shown in errors."""
        ...

    @property
    def variables(self) -> frozenset[str]:
        """Names that it reads from outside: messages, tools and its kwargs."""
        ...

    def render(
        self,
        *,
        messages: Sequence[Message],
        tools: Sequence[Tool] = (),
        add_generation_prompt: bool = False,
        **kwargs: JsonValue,
    ) -> str:
        """The rendered text; raises ``TemplateRaised`` or ``TemplateUnbounded``."""
        ...


class ChatTemplate:
    """A template compiled once; ``render`` may be called from any thread."""

    def __init__(
        self, source: TemplateSource, environment: ChatEnvironment, template: jinja2.Template
    ) -> None:
        self._source = source
        self._environment = environment
        self._template = template

    @property
    def source(self) -> TemplateSource:
        """Where the template comes from."""
        return self._source

    @cached_property
    def variables(self) -> frozenset[str]:
        """Names that the template reads from outside: messages, tools and its kwargs."""
        tree = self._environment.parse(self.source.text)
        known = self._environment.globals
        return frozenset(jinja2.meta.find_undeclared_variables(tree) - set(known))

    def render(
        self,
        *,
        messages: Sequence[Message],
        tools: Sequence[Tool] = (),
        add_generation_prompt: bool = False,
        **kwargs: JsonValue,
    ) -> str:
        """The rendered text.

        Raises ``TemplateRaised`` with line and message index, or ``TemplateUnbounded``.
        """
        try:
            return self._render(messages, tools, add_generation_prompt, kwargs)
        except BudgetSpent as error:
            raise TemplateUnbounded(
                f"{self.source.name}: the template does more work than any conversation needs; stopped",
                hint="look for a loop over a large range, or a repetition",
                details={"file": self.source.name},
            ) from error
        except Exception as error:
            # A template can raise anything.
            index = self._message_at_fault(messages, tools, add_generation_prompt, kwargs)
            raise self._raised(error, messages, index) from error

    def _render(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        add_generation_prompt: bool,
        kwargs: Mapping[str, JsonValue],
    ) -> str:
        pieces: list[str] = []
        size = 0
        variables = {**kwargs, "messages": list(messages), "tools": list(tools) or None, "documents": None}
        for piece in self._template.generate(variables, add_generation_prompt=add_generation_prompt):
            size += len(piece)
            if size > OUTPUT_LIMIT:
                raise BudgetSpent
            pieces.append(piece)
        return "".join(pieces)

    def _message_at_fault(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        add_generation_prompt: bool,
        kwargs: Mapping[str, JsonValue],
    ) -> int | None:
        """The first message after the longest conversation that still renders, if there is one."""
        for length in range(len(messages) - 1, max(0, len(messages) - _SEARCH_LIMIT), -1):
            try:
                self._render(messages[:length], tools, add_generation_prompt, kwargs)
            except BudgetSpent:
                return None
            except Exception:  # noqa: BLE001, S112 - it is still inside; look further back
                continue
            return length
        return 0 if len(messages) == 1 else None

    def _raised(self, error: Exception, messages: Sequence[Message], index: int | None) -> InputError:
        line = _line_in_template(error.__traceback__, self.source.name)
        place = f"{self.source.name}:{line}" if line else self.source.name
        where = f" at message {index} ({messages[index].get('role')})" if index is not None else ""
        return TemplateRaised(
            f"{place}: the template raised{where}: {_shown(error)}",
            hint="change the message, or the template at that line",
            details={"file": self.source.name, "line": line, "message_index": index},
        )


def _shown(error: Exception) -> str:
    # A template's own sentence and Python's type errors say what is wrong; other messages can quote content.
    if isinstance(error, (jinja2.TemplateError, TypeError)):
        return f"{error}"[:_SHOWN_LIMIT]
    return type(error).__name__


def _line_in_template(trace: TracebackType | None, name: str) -> int | None:
    line = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == name:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


class _ByTools:
    """Two templates of one checkpoint: one for conversations with tools, one for those without."""

    def __init__(self, plain: ChatTemplate, with_tools: ChatTemplate) -> None:
        self._plain = plain
        self._with_tools = with_tools

    @property
    def source(self) -> TemplateSource:
        """Where they come from, as the name of the plain one."""
        return self._plain.source

    @property
    def variables(self) -> frozenset[str]:
        """Names that either reads from outside."""
        return self._plain.variables | self._with_tools.variables

    def render(
        self,
        *,
        messages: Sequence[Message],
        tools: Sequence[Tool] = (),
        add_generation_prompt: bool = False,
        **kwargs: JsonValue,
    ) -> str:
        """The text by the one that the tools ask for; raises what that raises."""
        chosen = self._with_tools if tools else self._plain
        return chosen.render(
            messages=messages, tools=tools, add_generation_prompt=add_generation_prompt, **kwargs
        )


def compile_template(
    source: TemplateSource, *, clock: Callable[[], datetime] = datetime.now
) -> ConversationTemplate:
    """Compile a template; ``clock`` is what its ``strftime_now`` reads.

    Raises ``TemplateSyntax`` with file, line and column.
    """
    plain = _compiled(source, clock)
    return plain if source.for_tools is None else _ByTools(plain, _compiled(source.for_tools, clock))


def _compiled(source: TemplateSource, clock: Callable[[], datetime]) -> ChatTemplate:
    environment = ChatEnvironment(clock)
    try:
        code = environment.compile(source.text, name=source.name, filename=source.name)
    except jinja2.TemplateSyntaxError as error:
        column = syntax_error_column(environment, source.text, error)
        raise TemplateSyntax(
            f"{source.name}:{error.lineno}:{column}: {error.message}",
            hint="the template does not compile as Jinja",
            details={"file": source.name, "line": error.lineno, "column": column},
        ) from error
    template = environment.template_class.from_code(environment, code, environment.make_globals(None))
    return ChatTemplate(source, environment, template)


__all__ = ["ConversationTemplate", "compile_template"]
