"""The renderer: a family's messages to text, ids, spans, and the suffix of an append.

One renderer serves every family; what differs between families is data (``titocli.families.family``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from titocli.errors import (
    ConflictingOption,
    ControlTokenInText,
    HistoryRewritten,
    UnfitTokenizer,
)
from titocli.families.boundary import BoundaryIds, boundary_ids
from titocli.families.call_ids import CallIds, prints_call_ids, with_functions_ids
from titocli.families.chat_template import ConversationTemplate, compile_template
from titocli.families.client_json import spelled_tools
from titocli.families.control_tokens import ClientText, ControlTokens, client_text
from titocli.families.encoders import encoder_template
from titocli.families.family import Family, SuffixBase
from titocli.families.fitness import refuse_unfit
from titocli.families.kimi_tools import with_tools_text
from titocli.families.messages.reasoning import told_apart
from titocli.families.suffix_base import suffix_base
from titocli.families.template_source import TemplateSource, shipped_template
from titocli.families.tiny import tiny_tokenizer
from titocli.jsonvalue import JsonValue, Message, Tool
from titocli.tokens.breaks import BREAK, without_breaks
from titocli.tokens.ids import TokenIds, token_ids
from titocli.tokens.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class Suffix:
    """What an append adds to a conversation: its text and, with a tokenizer, its ids.

    ``generation_prompt`` is the end of ``text`` that opens the assistant turn ("" where the family does not
    say how a turn starts).  ``template_renders`` and ``encoded_bytes`` count the work that it took.
    """

    text: str
    ids: TokenIds
    generation_prompt: str
    template_renders: int
    encoded_bytes: int


class Renderer:
    """Renders one family's conversations by one template, with one tokenizer or none.

    Messages and tools are given normalised (``titocli.families.messages``), kwargs resolved
    (``titocli.families.kwargs``).  Safe to use from several threads.
    """

    def __init__(
        self,
        family: Family,
        template: ConversationTemplate,
        tokenizer: Tokenizer | None = None,
        *,
        call_ids: CallIds = CallIds.VERBATIM,
    ) -> None:
        if tokenizer is not None:
            refuse_unfit(family, tokenizer)
        self.family = family
        self.template = template
        self.call_ids = call_ids
        self._tokenizer = tokenizer
        self._boundary = None if tokenizer is None else boundary_ids(family, tokenizer)

    @property
    def has_tokenizer(self) -> bool:
        """Whether it makes ids."""
        return self._tokenizer is not None

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer; a renderer made without one must not be asked for ids."""
        if self._tokenizer is None:
            raise UnfitTokenizer("this renderer has no tokenizer", hint="give one with --tokenizer")
        return self._tokenizer

    @property
    def boundary(self) -> BoundaryIds:
        """The family's boundary rule in this tokenizer's ids."""
        if self._boundary is None:
            self._boundary = boundary_ids(self.family, self.tokenizer)
        return self._boundary

    def text(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        kwargs: Mapping[str, JsonValue],
        generation_prompt: bool,
    ) -> str:
        """The rendered conversation; a lone surrogate becomes U+FFFD, for text must have UTF-8."""
        return self._text(self._named(messages), spelled_tools(tools), kwargs, generation_prompt)

    def _named(self, messages: Sequence[Message], generated: Collection[int] = ()) -> Sequence[Message]:
        renames = self.call_ids is CallIds.FUNCTIONS and prints_call_ids(self.family)
        return with_functions_ids(messages, generated=generated) if renames else messages

    def _text(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        kwargs: Mapping[str, JsonValue],
        generation_prompt: bool,
    ) -> str:
        return _without_surrogates(self._rendered(messages, tools, kwargs, generation_prompt))

    def marked_text(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        kwargs: Mapping[str, JsonValue],
        generation_prompt: bool,
        control_tokens: ControlTokens = ControlTokens.TEXT,
        generated: Collection[int] = (),
    ) -> str:
        """As ``text``, with breaks where control tokens that clients supplied stay text.

        ``generated`` are the indices of messages that the engine wrote: their reasoning was told apart when
        they were read, so that a ``</think>`` in their content is text.  Without a tokenizer, with ``keep``
        or where nothing has to be kept apart it is the text itself.  Raises ``ControlTokenInText`` where the
        template itself reads such a token, so that its text would be another one.
        """
        named = self._named(messages, generated)
        told = [told_apart(message) if at in generated else message for at, message in enumerate(named)]
        return self._marked(told, spelled_tools(tools), kwargs, generation_prompt, control_tokens, generated)

    def _marked(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        kwargs: Mapping[str, JsonValue],
        generation_prompt: bool,
        control_tokens: ControlTokens,
        generated: Collection[int] = (),
    ) -> str:
        text = self._text(messages, tools, kwargs, generation_prompt)
        if control_tokens is ControlTokens.KEEP or self._tokenizer is None:
            return text
        client = self.client_text
        marked = (
            client.conversation(messages, generated=generated),
            client.tools(tools),
            client.members(kwargs),
        )
        if marked == (list(messages), list(tools), dict(kwargs)):
            return text
        pieces = self._rendered(*marked, generation_prompt).split(BREAK)
        rendered = BREAK.join(map(_without_surrogates, pieces))
        if without_breaks(rendered) != text:
            raise ControlTokenInText(
                f"{self.template.source.name} reads a control token in the text of a message or tool",
                hint="--control-tokens keep renders it as the template does",
                details={"family": self.family.name},
            )
        return rendered

    def _rendered(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        kwargs: Mapping[str, JsonValue],
        generation_prompt: bool,
    ) -> str:
        shown = with_tools_text(self.family, tools, kwargs)
        return self.template.render(
            messages=messages, tools=tools, add_generation_prompt=generation_prompt, **shown
        )

    @cached_property
    def client_text(self) -> ClientText:
        """What marks client text, for the tokenizer or, without one, for the tokens that the family needs."""
        return client_text(self.family, self._tokenizer or tiny_tokenizer(self.family))

    def ids(self, text: str) -> TokenIds:
        """The ids of rendered or marked text, encoded as a whole."""
        if BREAK in text:
            return token_ids(self.tokenizer.encode_with_breaks(text)[0])
        return token_ids(self.tokenizer.encode(text))

    def generation_prompt_of(self, text: str) -> str:
        """The part of a render with a generation prompt that opens the assistant turn."""
        start, resumes = self.family.assistant_start, self.family.assistant_resumes
        if start is None:
            return ""
        at = text.rfind(start) if resumes is None else max(text.rfind(start), text.rfind(resumes))
        # A contract that was registered may say a start that its template does not print.
        return text[at:] if at >= 0 else ""

    def suffix(
        self,
        appended: Sequence[Message],
        *,
        history: Sequence[Message],
        tools: Sequence[Tool] = (),
        kwargs: Mapping[str, JsonValue],
        control_tokens: ControlTokens = ControlTokens.TEXT,
    ) -> Suffix:
        """The suffix of ``appended`` messages, generation prompt included.

        ``appended`` is normalised; ``history`` is the stored conversation before it as it came, ending in
        the generated assistant message.  A family with a synthetic base looks only at that message's tool
        calls, and at pictures and videos, which some templates number through the whole conversation.
        Raises ``HistoryRewritten`` when the template does not append, ``UnfitTokenizer`` when the ids of the
        suffix depend on how the text before it is cut.
        """
        base = suffix_base(self.family, history)
        new = self._named([*history, *appended], {len(history) - 1})[len(history) :]
        shown = spelled_tools(tools) if self._suffix_needs_tools else ()
        before = self._marked(base, shown, kwargs, False, control_tokens)
        after = self._marked([*base, *new], shown, kwargs, True, control_tokens)
        if not after.startswith(before):
            roles = ", ".join(str(message.get("role")) for message in appended) or "nothing"
            raise HistoryRewritten(
                f"{self.template.source.name}: appending {roles} changes the text before it",
                hint="this template is not append-only; see titocli families show",
                details={"family": self.family.name},
            )
        renders = 2 + (BREAK in before) + (BREAK in after)
        return self._suffix_of(before, after[len(before) :], renders=renders)

    @property
    def _suffix_needs_tools(self) -> bool:
        """Whether more than the head of the prompt, which is outside every suffix, depends on tools."""
        by_tools = self.template.source.for_tools is not None
        return by_tools or self.family.suffix_base is SuffixBase.REAL_HISTORY

    def _suffix_of(self, before: str, marked: str, *, renders: int) -> Suffix:
        text = without_breaks(marked)
        ids: TokenIds = token_ids()
        encoded_bytes = 0
        if self._tokenizer is not None:
            context = before[self._tokenizer.last_added_token(before) :]
            ids = self._encode_after(context, marked)
            encoded_bytes = len((context + context + text).encode())
        return Suffix(
            text=text,
            ids=ids,
            generation_prompt=self.generation_prompt_of(text),
            template_renders=renders,
            encoded_bytes=encoded_bytes,
        )

    def _encode_after(self, context: str, text: str) -> TokenIds:
        """The ids that ``text`` has when it follows ``context``; both may have breaks."""
        known = self.ids(context)
        whole = self.ids(context + text)
        if whole[: len(known)] != known:
            raise UnfitTokenizer(
                f"tokenizer {self.tokenizer.source}: text that is appended changes the ids before it",
                hint=f"family {self.family.name!r} cannot keep tokens with this tokenizer",
            )
        return whole[len(known) :]


def family_renderer(
    family: Family,
    tokenizer: Tokenizer | None = None,
    source: TemplateSource | None = None,
    *,
    call_ids: CallIds = CallIds.VERBATIM,
) -> Renderer:
    """A renderer by the family's shipped template or encoder, or by ``source`` where that is given.

    Families without a template of their own (``default``) need a ``source``.
    """
    if source is None and family.encoder is not None:
        return Renderer(family, encoder_template(family.encoder), tokenizer, call_ids=call_ids)
    if source is None:
        if family.template is None:
            raise ConflictingOption(
                f"family {family.name!r} has no template of its own",
                hint="give the checkpoint's with --template, or a --tokenizer directory that has one",
            )
        source = shipped_template(family.template)
    return Renderer(family, compile_template(source), tokenizer, call_ids=call_ids)


def _without_surrogates(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


__all__ = ["Renderer", "Suffix", "family_renderer", "refuse_unfit"]
