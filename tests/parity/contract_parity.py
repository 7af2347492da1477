"""A contract's template against a checkpoint's own, conversation by conversation.

Both get the same normalised messages and kwargs; the checkpoint's is rendered by transformers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path

from tests.parity.oracle import Renders
from titocli.families.family import Family
from titocli.families.messages import normalise_messages, normalise_tools
from titocli.families.renderer import Renderer, family_renderer
from titocli.jsonvalue import JsonValue, Message, Tool
from titocli.verify.conversations import Conversation


@dataclass
class Comparison:
    """One contract, and a template (or what is asked instead of one) that should print the same."""

    oracle: Renders
    family: Family
    template: Path | None = None

    @cached_property
    def _renderer(self) -> Renderer:
        return family_renderer(self.family)

    def check_all(self, conversations: Iterable[Conversation], kwargs: Mapping[str, JsonValue]) -> int:
        """Every conversation prints the same, with ``kwargs`` over its own; every other one is continued.

        The result is how many there were.
        """
        texts = [
            self.check(
                conversation.messages,
                tools=conversation.tools,
                kwargs={**conversation.kwargs, **kwargs},
                generation_prompt=conversation.index % 2 == 0,
            )
            for conversation in conversations
        ]
        return len(texts)

    def check(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] | None = None,
        kwargs: Mapping[str, JsonValue],
        generation_prompt: bool = True,
    ) -> str:
        """The text that both print."""
        normal = normalise_messages(self.family, messages)
        native = self.oracle.render(
            self.template, normal, tools=tools, kwargs=kwargs, generation_prompt=generation_prompt
        )
        assert native.error is None, native.error
        ours = self._renderer.text(
            normal, tools=normalise_tools(tools), kwargs=kwargs, generation_prompt=generation_prompt
        )
        assert ours == native.text
        return ours


def kwarg_combinations(family: Family) -> list[dict[str, JsonValue]]:
    """Every combination of finite kwarg values, and of their absence, with the fixed kwargs."""
    finite = {**family.pinned_kwargs, **family.turn_kwargs}
    choices = [[{}, *({name: value} for value in values)] for name, values in finite.items()]
    return [
        {k: v for one in each for k, v in one.items()} | dict(family.fixed_kwargs)
        for each in product(*choices)
    ]


def values_not_generated(family: Family, conversations: Iterable[Conversation]) -> set[str]:
    """The finite kwarg values that no conversation has, as ``name=value``; ``true`` is not ``"true"``."""
    finite = {**family.pinned_kwargs, **family.turn_kwargs}
    expected = {_spelled(name, value) for name, values in finite.items() for value in values}
    return expected - {_spelled(*item) for each in conversations for item in each.kwargs.items()}


def _spelled(name: str, value: JsonValue) -> str:
    return f"{name}={json.dumps(value)}"
