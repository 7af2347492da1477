"""Which contract an unknown chat template resembles: both render the same generated conversations.

The switches among a contract's fixed kwargs are left out: without them each shipped template prints what its
checkpoints' own does, rewriting of history included.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from titocli.errors import InputError
from titocli.families.chat_template import ConversationTemplate
from titocli.families.family import Family
from titocli.families.messages import normalise_messages, normalise_tools
from titocli.families.renderer import family_renderer
from titocli.jsonvalue import JsonValue
from titocli.verify.append_only import first_difference
from titocli.verify.conversations import Conversation, generate

#: Conversations that tell which contracts are worth a closer look, and how many of these are.
_GLANCE, _CLOSE = 30, 3
_EXCERPT_BEFORE, _EXCERPT = 20, 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Where one generated conversation renders differently.

    ``at`` is the first character that differs; ``ours`` and ``theirs`` are the text around it, or the error
    that a template raised.
    """

    conversation: int
    at: int
    ours: str
    theirs: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resemblance:
    """How many of ``conversations`` generated ones a template renders differently from a contract."""

    family: Family
    conversations: int
    differing: int
    first: Difference | None


def nearest_contracts(
    template: ConversationTemplate, contracts: Sequence[Family], *, conversations: int, seed: int
) -> tuple[Resemblance, ...]:
    """The contracts with the fewest differences from ``template``; none where every conversation differs."""
    comparable = [each for each in contracts if each.template is not None or each.encoder is not None]
    glances = [resemblance(template, each, conversations=_GLANCE, seed=seed) for each in comparable]
    close = sorted(glances, key=_differing)[:_CLOSE]
    whole = [resemblance(template, one.family, conversations=conversations, seed=seed) for one in close]
    fewest = min(map(_differing, whole), default=conversations)
    return tuple(one for one in whole if one.differing == fewest < conversations)


def _differing(one: Resemblance) -> int:
    return one.differing


def resemblance(
    template: ConversationTemplate, family: Family, *, conversations: int, seed: int
) -> Resemblance:
    """``template`` against the contract's own on conversations generated for the contract."""
    found = list(_differences(template, family, generate(family, conversations, seed)))
    return Resemblance(
        family=family, conversations=conversations, differing=len(found), first=found[0] if found else None
    )


def _differences(
    template: ConversationTemplate, family: Family, conversations: Iterator[Conversation]
) -> Iterator[Difference]:
    own = family_renderer(family).template
    for conversation in conversations:
        # An unknown template has defaults of its own.
        ours = _render(own, family, conversation, defaults=family.default_kwargs)
        theirs = _render(template, family, conversation, defaults={})
        if ours != theirs:
            at = first_difference(ours, theirs)
            yield Difference(
                conversation=conversation.index, at=at, ours=_excerpt(ours, at), theirs=_excerpt(theirs, at)
            )


def _render(
    template: ConversationTemplate,
    family: Family,
    conversation: Conversation,
    defaults: Mapping[str, JsonValue],
) -> str:
    fixed = {name: value for name, value in family.fixed_kwargs.items() if not isinstance(value, bool)}
    kwargs: dict[str, JsonValue] = {**defaults, **conversation.kwargs, **fixed}
    try:
        return template.render(
            messages=normalise_messages(family, conversation.messages),
            tools=normalise_tools(conversation.tools),
            add_generation_prompt=conversation.index % 2 == 0,
            **kwargs,
        )
    except InputError as error:
        # Generated messages hold nobody's text, so the error may be shown.
        return error.message


def _excerpt(text: str, at: int) -> str:
    return text[max(0, at - _EXCERPT_BEFORE) : at + _EXCERPT]


__all__ = ["Difference", "Resemblance", "nearest_contracts", "resemblance"]
