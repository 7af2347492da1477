"""Control tokens in the text of clients stay text.

Before rendering, each place in client text where a control token of the tokenizer starts gets a break
(``titocli.tokens.breaks``), so that encoding makes plain text of it, while what the template itself writes
stays a token.  Text that ends with the beginning of a control token gets a break at its end, so that nothing
the template writes next completes the token.

What a client supplies: every string of system, user and tool messages, of tools and of kwargs, keys of
objects included; an assistant message's tool calls and name.  In an assistant's own content and reasoning
the tokens that its model writes (think tags, tool-call markup, whatever is not flagged special) stay tokens,
turn markers do not.  Messages that the engine itself generated are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from titocli.errors import ControlTokenInText
from titocli.families.control_policy import ControlTokens
from titocli.families.family import Family, ReasoningGrammar, Role, ToolCallGrammar
from titocli.jsonvalue import JsonObject, JsonValue, Message, Tool
from titocli.tokens.breaks import BREAK
from titocli.tokens.tokenizer import Tokenizer

#: What an assistant message holds of a model's own text.
_OWN_TEXT = frozenset({"content", "reasoning_content"})
_CALL_TAGS = ("<tool_call>", "</tool_call>")
#: Tokens that a model writes within its own turn.
_WRITTEN: Mapping[ReasoningGrammar | ToolCallGrammar, tuple[str, ...]] = MappingProxyType(
    {
        ReasoningGrammar.THINK_TAGS: ("<think>", "</think>"),
        ReasoningGrammar.THINK_TAGS_TIGHT: ("<think>", "</think>"),
        ReasoningGrammar.THINK_TAGS_SPACED: ("<think>", "</think>"),
        ReasoningGrammar.THINK_TAGS_LINES: ("<think>", "</think>"),
        ReasoningGrammar.THINK_TAGS_HEADED: ("<think>", "</think>"),
        ReasoningGrammar.INKLING_BLOCKS: ("<|content_thinking|>", "<|content_text|>", "<|end_message|>"),
        ToolCallGrammar.HERMES_JSON: _CALL_TAGS,
        ToolCallGrammar.XML_PARAMETERS: _CALL_TAGS,
        ToolCallGrammar.XML_PARAMETERS_LINES: _CALL_TAGS,
        ToolCallGrammar.GLM_ARG_PAIRS: (
            *_CALL_TAGS,
            "<arg_key>",
            "</arg_key>",
            "<arg_value>",
            "</arg_value>",
        ),
        ToolCallGrammar.MINIMAX_INVOKE: ("<minimax:tool_call>", "</minimax:tool_call>"),
        ToolCallGrammar.KIMI_SECTIONS: (
            "<|tool_calls_section_begin|>",
            "<|tool_calls_section_end|>",
            "<|tool_call_begin|>",
            "<|tool_call_argument_begin|>",
            "<|tool_call_end|>",
        ),
        ToolCallGrammar.DSML: ("｜DSML｜",),
        ToolCallGrammar.INKLING_BLOCKS: (
            "<|message_model|>",
            "<|content_invoke_tool_json|>",
            "<|end_message|>",
        ),
    }
)


@dataclass(frozen=True, slots=True)
class _Spelling:
    """A set of control tokens as patterns over text."""

    anywhere: re.Pattern[str]
    starts: re.Pattern[str]
    beginnings: tuple[str, ...]

    @classmethod
    def of(cls, tokens: Collection[str]) -> _Spelling:
        any_token = "|".join(map(re.escape, sorted(tokens))) or "(?!)"
        beginnings = {token[:end] for token in tokens for end in range(1, len(token))}
        return cls(re.compile(any_token), re.compile(f"(?=(?:{any_token}))(.)"), tuple(sorted(beginnings)))

    def marked(self, text: str) -> str:
        """``text`` with breaks; itself where it needs none."""
        if BREAK in text:
            text = text.replace(BREAK, "\ufffd")
        if self.anywhere.search(text):
            text = self.starts.sub(rf"\1{BREAK}", text)
        return text + BREAK if text.endswith(self.beginnings) else text


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientText:
    """Marks client text for one family and tokenizer."""

    client: _Spelling
    assistant: _Spelling

    def conversation(self, messages: Sequence[Message], *, generated: Collection[int]) -> list[Message]:
        """The messages with breaks in what clients supplied; ``generated`` are the engine's, by index."""
        return [
            message if index in generated else self._message(message)
            for index, message in enumerate(messages)
        ]

    def _message(self, message: Message) -> Message:
        return {
            name: value if name == "role" else _marked(value, self._spelling(message, name))
            for name, value in message.items()
        }

    def _spelling(self, message: Message, name: str) -> _Spelling:
        own = message.get("role") == Role.ASSISTANT and name in _OWN_TEXT
        return self.assistant if own else self.client

    def tools(self, tools: Sequence[Tool]) -> list[Tool]:
        """The tools with breaks."""
        return [self.members(tool) for tool in tools]

    def members(self, values: JsonObject) -> JsonObject:
        """An object whose member names are the template's, with breaks in the values."""
        return {name: _marked(value, self.client) for name, value in values.items()}

    def refuse(self, messages: Sequence[Message], tools: Sequence[Tool], *, first: int) -> None:
        """Raise ``ControlTokenInText`` for the first control token that client text spells."""
        for index, message in enumerate(messages, start=first):
            for name, value in message.items():
                _refuse(value, self._spelling(message, name), f"message {index}", {"message_index": index})
        for index, tool in enumerate(tools):
            _refuse(tool, self.client, f"tool {index}", {"tool_index": index})


def _marked(value: JsonValue, spelling: _Spelling) -> JsonValue:
    """A value with breaks in every string in it, keys included."""
    if isinstance(value, str):
        return spelling.marked(value)
    if isinstance(value, Mapping):
        return {spelling.marked(key): _marked(item, spelling) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_marked(item, spelling) for item in value)
    return value


def _refuse(value: JsonValue, spelling: _Spelling, where: str, details: JsonObject) -> None:
    for text in _strings(value):
        found = spelling.anywhere.search(text)
        if found is not None:
            raise ControlTokenInText(
                f"{where} spells the control token {found[0]}",
                hint="--control-tokens text encodes it as text",
                details={**details, "token": found[0]},
            )


def _strings(value: JsonValue) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)


def client_text(family: Family, tokenizer: Tokenizer) -> ClientText:
    """What marks the client text of a family's conversations for a tokenizer."""
    control = frozenset(tokenizer.control_tokens)
    grammars = (family.parsers.reasoning, family.parsers.tool_call)
    written = {token for grammar in grammars if grammar is not None for token in _WRITTEN[grammar]}
    # Not every tokenizer flags its turn markers as special; the family knows those that it does not.
    turns = (control & tokenizer.special_tokens.union(family.comparator_specials)) - written
    return ClientText(client=_Spelling.of(control), assistant=_Spelling.of(turns))


__all__ = ["ClientText", "ControlTokens", "client_text"]
