"""What a contract is compared with: a name, a version, and the text that it prints for a conversation.

* a checkpoint's own chat template under transformers, of this environment and of the engine's;
* SGLang's port of GLM-5.3's templates, which are in no package;
* SGLang's encoders, for checkpoints without a template;
* Inkling's token renderer, whose template's bytes are not published.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.encoders.chats import module_of, sglang_text
from tests.encoders.oracle import EncoderOracle, running_oracle
from tests.parity.glm53_port import NAME as PORT_NAME
from tests.parity.glm53_port import Glm53Port
from tests.parity.inkling_text import inkling_text
from tests.parity.kimi_declaration import declared
from tests.parity.natives import Native
from tests.parity.oracle import Oracle, running_transformers
from titocli.families.family import Family
from titocli.families.kwargs import resolve_kwargs
from titocli.families.messages import normalise_messages, normalise_tools
from titocli.jsonvalue import JsonValue, Message, Tool
from titocli.verify.conversations import Conversation


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A generated conversation as both sides get it: normalised, resolved by the family's kwargs."""

    messages: Sequence[Message]
    tools: Sequence[Tool]
    kwargs: dict[str, JsonValue]
    generation_prompt: bool


def prompt_of(family: Family, conversation: Conversation) -> Prompt:
    return Prompt(
        messages=normalise_messages(family, conversation.messages),
        tools=normalise_tools(conversation.tools),
        kwargs=resolve_kwargs(family, conversation.kwargs),
        generation_prompt=conversation.index % 2 == 0,
    )


class Reference(Protocol):
    """An independent rendering of one contract."""

    @property
    def name(self) -> str:
        """The code and its version."""
        ...

    def text(self, family: Family, prompt: Prompt, /) -> str | None:
        """What it prints, None where it raises."""
        ...


@dataclass(frozen=True, slots=True)
class TemplateReference:
    """A checkpoint's own template, with the declared edits, under one version of transformers."""

    oracle: Oracle
    template: Path

    @property
    def name(self) -> str:
        return f"transformers {self.oracle.version}"

    def text(self, family: Family, prompt: Prompt) -> str | None:
        # Kimi's tokenizer class hands the tools over as text.
        declares = "tools_ts_str" in family.pinned_kwargs and prompt.tools
        text = {"tools_ts_str": declared(prompt.tools)} if declares else {}
        return self.oracle.render(
            self.template,
            prompt.messages,
            tools=prompt.tools or None,
            kwargs={**prompt.kwargs, **text},
            generation_prompt=prompt.generation_prompt,
        ).text


@dataclass(frozen=True, slots=True)
class PortReference:
    """SGLang's port of the templates of GLM-5.3."""

    name: str = PORT_NAME

    def text(self, family: Family, prompt: Prompt) -> str | None:
        return (
            Glm53Port(str(family.variant))
            .render(
                None,
                prompt.messages,
                tools=prompt.tools,
                kwargs=prompt.kwargs,
                generation_prompt=prompt.generation_prompt,
            )
            .text
        )


@dataclass(frozen=True, slots=True)
class EncoderReference:
    """SGLang's encoder."""

    oracle: EncoderOracle
    name: str = "llm-router-utils 0.8.1"

    def text(self, family: Family, prompt: Prompt) -> str | None:
        return sglang_text(
            self.oracle,
            family,
            prompt.messages,
            tools=prompt.tools,
            kwargs=prompt.kwargs,
            generation_prompt=prompt.generation_prompt,
        )


@dataclass(frozen=True, slots=True)
class InklingReference:
    """Inkling's token renderer."""

    name: str = "llm-router-utils 0.8.1"

    def text(self, _family: Family, prompt: Prompt) -> str | None:
        return inkling_text(
            prompt.messages,
            tools=prompt.tools,
            effort=prompt.kwargs.get("reasoning_effort"),
            generation_prompt=prompt.generation_prompt,
        )


@contextmanager
def template_reference(native: Native, python: str, folder: Path) -> Iterator[TemplateReference]:
    with running_transformers(python) as oracle:
        yield TemplateReference(oracle, native.written_to(folder))


@contextmanager
def other_reference(family: Family) -> Iterator[Reference]:
    if family.encoder is None:
        yield PortReference() if family.name == "glm53" else InklingReference()
        return
    with running_oracle(module_of(family)) as oracle:
        yield EncoderReference(oracle)
