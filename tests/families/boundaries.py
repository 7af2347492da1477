"""Stored ids and suffix, as a session joins them."""

from __future__ import annotations

from collections.abc import Iterator

from titocli.families.kwargs import resolve_kwargs
from titocli.families.messages import normalise_messages, normalise_tools
from titocli.families.renderer import Renderer
from titocli.tokens.byte_level import byte_level_tokenizer
from titocli.tokens.tokenizer import Tokenizer
from titocli.verify.conversations import Conversation, generate

SEED = 11


def byte_tokenizer(tokens: tuple[str, ...]) -> Tokenizer:
    return byte_level_tokenizer(tokens, special=set(tokens))


def stop_id(renderer: Renderer, stop: str) -> list[int]:
    token_id = renderer.tokenizer.token_id(stop)
    assert token_id is not None
    return [token_id]


def joined(renderer: Renderer, stored: list[int], suffix: list[int]) -> list[int]:
    """The next prompt: stored ids, trimmed and glued by the family's rule, and the suffix."""
    joint = renderer.boundary.joint(stored[-1])
    return [*stored[: len(stored) - joint.trim], *joint.glue, *suffix]


def appends(renderer: Renderer, count: int) -> Iterator[tuple[str, list[int], list[int]]]:
    """For generated conversations: text up to an assistant turn, suffix of the rest, canonical ids of all.

    Control tokens in the messages are marked to stay text.
    """
    for conversation in generate(renderer.family, count, SEED):
        yield from _appends(renderer, conversation)


def _appends(renderer: Renderer, conversation: Conversation) -> Iterator[tuple[str, list[int], list[int]]]:
    messages = normalise_messages(renderer.family, conversation.messages)
    tools = normalise_tools(conversation.tools)
    kwargs = resolve_kwargs(renderer.family, conversation.kwargs)
    for end, message in enumerate(messages[:-1], 1):
        if message["role"] == "assistant":
            before = renderer.marked_text(messages[:end], tools=tools, kwargs=kwargs, generation_prompt=False)
            whole = renderer.marked_text(messages, tools=tools, kwargs=kwargs, generation_prompt=True)
            suffix = renderer.suffix(messages[end:], history=messages[:end], tools=tools, kwargs=kwargs)
            yield before, list(suffix.ids), list(renderer.ids(whole))
