"""A conversation template whose text comes from a Python function."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import ModuleType
from typing import Protocol

from titocli.errors import TemplateRaised
from titocli.families.encoders.settings import EncodingFault, Settings
from titocli.families.template_source import TemplateSource
from titocli.jsonvalue import JsonValue, Message, Tool

_CONVERSATION = ("messages", "tools", "add_generation_prompt")


class EncoderModule(Protocol):
    """The module of one encoder: ``encode``, and the names of the kwargs that it reads."""

    KWARGS: frozenset[str]

    def encode(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool],
        settings: Settings,
        generation_prompt: bool,
    ) -> str:
        """The text; raises ``EncodingFault``."""
        ...


class PythonTemplate:
    """An encoder as a template; ``render`` may be called from any thread.

    ``parts`` are the modules that the text depends on: their source stands where a template's text does, so
    that its hash changes when the encoder does.
    """

    def __init__(self, name: str, encoder: EncoderModule, parts: Sequence[ModuleType]) -> None:
        self._name = name
        self._encoder = encoder
        self._parts = tuple(parts)

    @cached_property
    def source(self) -> TemplateSource:
        """The encoder's name and the source text of its modules."""
        return TemplateSource(self._name, "\n".join(map(inspect.getsource, self._parts)))

    @property
    def variables(self) -> frozenset[str]:
        """Messages, tools and the kwargs that the encoder reads."""
        return self._encoder.KWARGS.union(_CONVERSATION)

    def render(
        self,
        *,
        messages: Sequence[Message],
        tools: Sequence[Tool] = (),
        add_generation_prompt: bool = False,
        **kwargs: JsonValue,
    ) -> str:
        """The encoded text; raises ``TemplateRaised`` with the message index where one is at fault."""
        try:
            settings = Settings.of(self._read(kwargs))
            return self._encoder.encode(
                messages, tools=tools, settings=settings, generation_prompt=add_generation_prompt
            )
        except EncodingFault as fault:
            raise self._raised(str(fault), messages, fault.message_index) from fault
        except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
            # Messages that were not normalised can fail anywhere; what they raise may quote them.
            raise self._raised(type(error).__name__, messages, None) from error

    def _read(self, kwargs: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        return {name: value for name, value in kwargs.items() if name in self._encoder.KWARGS}

    def _raised(self, what: str, messages: Sequence[Message], index: int | None) -> TemplateRaised:
        where = "" if index is None else f" at message {index} ({messages[index].get('role')})"
        return TemplateRaised(
            f"{self._name}: the encoder raised{where}: {what}",
            hint="change the message, or the kwarg, that the sentence names",
            details={"file": self._name, "line": None, "message_index": index},
        )


__all__ = ["EncoderModule", "PythonTemplate"]
