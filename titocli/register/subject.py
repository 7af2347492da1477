"""A checkpoint that is probed: its template, its tokenizer, what its files say of stop tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from titocli.errors import TemplateRaised
from titocli.families.chat_template import ConversationTemplate
from titocli.jsonvalue import JsonValue, Message, Tool
from titocli.register.probes import Probe
from titocli.tokens.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointFiles:
    """What a checkpoint's files say beside its template.

    ``stop_tokens`` are its end-of-sequence tokens in order, ``special_tokens`` the texts that templates know
    as ``bos_token`` and so on, ``name`` and ``template_sha256`` what it is known by.
    """

    name: str
    template_sha256: str | None = None
    stop_tokens: tuple[str, ...] = ()
    special_tokens: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is probed.  ``kwargs`` are given to every render."""

    template: ConversationTemplate
    tokenizer: Tokenizer
    files: CheckpointFiles
    kwargs: Mapping[str, JsonValue] = field(default_factory=dict)

    def text(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] = (),
        kwargs: Mapping[str, JsonValue] | None = None,
        *,
        generation_prompt: bool = False,
    ) -> str | None:
        """What the template prints, or None where it refuses the conversation."""
        try:
            return self.template.render(
                messages=messages,
                tools=tools,
                add_generation_prompt=generation_prompt,
                **{**self.kwargs, **(kwargs or {})},
            )
        except TemplateRaised:
            return None

    def state(
        self,
        probe: Probe,
        end: int,
        kwargs: Mapping[str, JsonValue] | None = None,
        *,
        generation_prompt: bool = False,
    ) -> str | None:
        """The first ``end`` messages of a probe."""
        return self.text(probe.messages[:end], probe.tools, kwargs, generation_prompt=generation_prompt)


__all__ = ["CheckpointFiles", "Subject"]
