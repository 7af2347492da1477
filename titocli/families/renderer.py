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
    InvalidMessages,
    UnfitTokenizer,
)
from titocli.families.boundary import BoundaryIds, boundary_ids
from titocli.families.chat_template import ConversationTemplate, compile_template
from titocli.families.control_tokens import ClientText, ControlTokens, client_text
from titocli.families.encoders import encoder_template
from titocli.families.family import Family, SuffixBase
from titocli.families.kimi_tools import with_tools_text
from titocli.families.messages import normalise_appended, normalise_messages
from titocli.families.template_source import TemplateSource, shipped_template
from titocli.families.tiny import tiny_tokenizer
from titocli.jsonvalue import JsonObject, JsonValue, Message, Tool
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
        self, family: Family, template: ConversationTemplate, tokenizer: Tokenizer | None = None
    ) -> None:
        if tokenizer is not None:
            refuse_unfit(family, tokenizer)
        self.family = family
        self.template = template
        self._tokenizer = tokenizer
        self._boundary = None if tokenizer is None else boundary_ids(family, tokenizer)

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
        rendered = self._rendered(messages, tools, kwargs, generation_prompt)
        return _without_surrogates(rendered)

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

        ``generated`` are the indices of messages that the engine wrote.  Without a tokenizer, with ``keep``
        or where nothing has to be kept apart it is the text itself.  Raises ``ControlTokenInText`` where the
        template itself reads such a token, so that its text would be another one.
        """
        text = self.text(messages, tools=tools, kwargs=kwargs, generation_prompt=generation_prompt)
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
        if resumes is None:
            return text[text.rindex(start) :]
        return text[max(text.rfind(start), text.rfind(resumes)) :]

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
        base = self._suffix_base(history)
        # The tools stand in the head of the prompt, outside every suffix, unless real history is compared.
        shown = tools if self.family.suffix_base is SuffixBase.REAL_HISTORY else ()
        before = self.marked_text(
            base, tools=shown, kwargs=kwargs, generation_prompt=False, control_tokens=control_tokens
        )
        after = self.marked_text(
            [*base, *appended],
            tools=shown,
            kwargs=kwargs,
            generation_prompt=True,
            control_tokens=control_tokens,
        )
        if not after.startswith(before):
            roles = ", ".join(str(message.get("role")) for message in appended) or "nothing"
            raise HistoryRewritten(
                f"{self.template.source.name}: appending {roles} changes the text before it",
                hint="this template is not append-only; see titocli families show",
                details={"family": self.family.name},
            )
        renders = 2 + (BREAK in before) + (BREAK in after)
        return self._suffix_of(before, after[len(before) :], renders=renders)

    def _suffix_base(self, history: Sequence[Message]) -> list[Message]:
        if self.family.suffix_base is SuffixBase.REAL_HISTORY:
            return normalise_messages(self.family, history)
        # One space of reasoning: enough for every template to print its think block.
        assistant = {"role": "assistant", "content": "", "reasoning_content": " "}
        calls = _readable_calls(self.family, history[-1:])
        media = _media_parts(history)
        pictures: list[Message] = [{"role": "user", "content": media}] if media else []
        closing: Message = {**assistant, "tool_calls": calls} if calls else assistant
        return [{"role": "system", "content": "synthetic"}, *pictures, closing]

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


def _readable_calls(family: Family, last: Sequence[Message]) -> JsonValue:
    try:
        return normalise_appended(family, last, first=0)[0].get("tool_calls") if last else None
    except InvalidMessages:
        # The model wrote arguments that are no JSON; no template reads them from here.
        return None


def _media_parts(history: Sequence[Message]) -> list[JsonObject]:
    lists = (message.get("content") for message in history)
    parts = (part for content in lists if isinstance(content, list | tuple) for part in content)
    return [part for part in parts if isinstance(part, Mapping) and part.get("type", "text") != "text"]


def refuse_unfit(family: Family, tokenizer: Tokenizer) -> None:
    """Raise ``UnfitTokenizer`` for a tokenizer without the family's tokens, naming them."""
    missing = [token for token in family.required_tokens if tokenizer.token_id(token) is None]
    if missing:
        raise UnfitTokenizer(
            f"tokenizer {tokenizer.source} does not belong to family {family.name!r}: "
            f"it lacks {', '.join(missing)}",
            hint="give the tokenizer of one of the family's checkpoints (titocli families show)",
            details={"missing_tokens": missing, "family": family.name},
        )


def family_renderer(
    family: Family, tokenizer: Tokenizer | None = None, source: TemplateSource | None = None
) -> Renderer:
    """A renderer by the family's shipped template or encoder, or by ``source`` where that is given.

    Families without a template of their own (``default``) need a ``source``.
    """
    if source is None and family.encoder is not None:
        return Renderer(family, encoder_template(family.encoder), tokenizer)
    if source is None:
        if family.template is None:
            raise ConflictingOption(
                f"family {family.name!r} has no template of its own",
                hint="give the checkpoint's with --template, or a --tokenizer directory that has one",
            )
        source = shipped_template(family.template)
    return Renderer(family, compile_template(source), tokenizer)


def _without_surrogates(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


__all__ = ["Renderer", "Suffix", "family_renderer", "refuse_unfit"]
