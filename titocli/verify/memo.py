"""A template that does not render the same thing twice, for checks that look at one text from many sides."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import msgspec

from titocli.families.chat_template import ConversationTemplate
from titocli.families.template_source import TemplateSource
from titocli.jsonvalue import JsonValue, Message, Tool

#: Renders that are kept: those of some conversations, and the made-up histories that all of them share.
_KEPT = 400


class MemoTemplate:
    """Renders as ``template`` does, from memory where it can.  Not for several threads."""

    def __init__(self, template: ConversationTemplate) -> None:
        self._template = template
        self._known: OrderedDict[bytes, str] = OrderedDict()
        self._encoder = msgspec.json.Encoder()

    @property
    def source(self) -> TemplateSource:
        """The template's own."""
        return self._template.source

    @property
    def variables(self) -> frozenset[str]:
        """The template's own."""
        return self._template.variables

    def render(
        self,
        *,
        messages: Sequence[Message],
        tools: Sequence[Tool] = (),
        add_generation_prompt: bool = False,
        **kwargs: JsonValue,
    ) -> str:
        """The rendered text; raises what the template raises, every time."""
        key = self._key(messages, tools, add_generation_prompt, kwargs)
        known = self._known.get(key) if key else None
        if known is None:
            known = self._template.render(
                messages=messages, tools=tools, add_generation_prompt=add_generation_prompt, **kwargs
            )
            self._remember(key, known)
        elif key:
            self._known.move_to_end(key)
        return known

    def _key(self, *parts: object) -> bytes | None:
        try:
            # By the bytes of its JSON, 1, 1.0 and true are three values.
            return self._encoder.encode(parts)
        except (TypeError, ValueError):
            return None  # a lone surrogate, or a mapping of another type: rendered anew

    def _remember(self, key: bytes | None, text: str) -> None:
        if key is None:
            return
        self._known[key] = text
        if len(self._known) > _KEPT:
            self._known.popitem(last=False)


__all__ = ["MemoTemplate"]
