"""DeepSeek V3.2's prompt format.

A user's message opens the answer's turn with it, and so does the last of a run of tool results: after that
comes only the think token.  Results belong to calls by their position.

DeepSeek's encoder shows reasoning after the last user message alone, also with ``drop_thinking`` false.
Here false keeps all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from titocli.families.encoders.dsml import (
    ASSISTANT,
    BOS,
    END_THINK,
    EOS,
    THINK,
    USER,
    V32_TAGS,
    closing,
    opening,
    schema_lines,
    text_of,
    tool_calls,
    tool_calls_text,
    with_tools_host,
)
from titocli.families.encoders.settings import COMMON_KWARGS, EncodingFault, Settings
from titocli.jsonvalue import Message, Tool

KWARGS = COMMON_KWARGS


def encode(
    messages: Sequence[Message], *, tools: Sequence[Tool], settings: Settings, generation_prompt: bool
) -> str:
    """The prompt text of normalised messages; raises ``EncodingFault``."""
    hosted = with_tools_host(messages, tools)
    offset = len(settings.context) + len(hosted) - len(messages)
    everything = (*settings.context, *hosted)
    asked = (index for index, message in enumerate(everything) if message["role"] == "user")
    writer = _Writer(settings, everything, tuple(tools), offset, max(asked, default=-1))
    writer.is_open = _ends_open(settings.context)
    for index in range(len(settings.context), len(everything)):
        writer.write(index)
    return _head(settings) + writer.text(generation_prompt=generation_prompt)


def _head(settings: Settings) -> str:
    return BOS if settings.opens_conversation and settings.add_default_bos_token else ""


def _ends_open(context: Sequence[Message]) -> bool:
    """Whether the context ends in a turn that its last question or results opened."""
    roles = (message["role"] for message in reversed(context) if message["role"] != "system")
    return next(roles, None) in ("user", "tool")


@dataclass(slots=True)
class _Writer:
    """The text so far.

    ``offset`` is the number of messages before the given ones, ``last_user`` the index of the last question.
    ``opener`` is what opened the turn of the answer; it stays out of the text until something follows it.
    ``unanswered`` counts the calls whose results are missing in a run that has begun.
    """

    settings: Settings
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...]
    offset: int
    last_user: int
    pieces: list[str] = field(default_factory=list)
    opener: str = ""
    is_open: bool = False
    unanswered: int = 0

    def write(self, index: int) -> None:
        """Add message ``index`` of all."""
        message = self.messages[index]
        role = message["role"]
        if self.unanswered and role != "tool":
            raise self._fault("follows a run of tool results that does not answer every call", index)
        if role == "system":
            self._add(self._system(index))
        elif role == "user":
            self._add(USER + text_of(message))
            self._open(ASSISTANT, thinks=self._keeps or index == self.last_user)
        elif role == "tool":
            self._result(index)
        elif role == "assistant":
            self._assistant(index)
        else:
            raise self._fault(f"has the unknown role {str(role)[:40]!r}", index)

    def text(self, *, generation_prompt: bool) -> str:
        """The text; with a generation prompt it ends with the opener of the answer's turn."""
        if not generation_prompt:
            return "".join(self.pieces)
        last = len(self.messages) - 1
        if self.unanswered:
            raise self._fault("ends a run of tool results that does not answer every call", last)
        if self.is_open and not self.opener:
            raise self._fault("stands inside the turn that the message before it opened", last)
        if not self.is_open:
            self._open(ASSISTANT, thinks=True)
        return "".join((*self.pieces, self.opener))

    @property
    def _keeps(self) -> bool:
        return not self.settings.drop_thinking

    def _add(self, text: str) -> None:
        self.pieces.extend((self.opener, text))
        self.opener = ""

    def _open(self, before: str, *, thinks: bool) -> None:
        self.opener = before + (THINK if thinks and self.settings.thinking else END_THINK)
        self.is_open = True

    def _system(self, index: int) -> str:
        hosts = index == len(self.settings.context)
        content = text_of(self.messages[index])
        return f"{content}\n\n{_introduction(self.tools)}" if hosts and self.tools else content

    def _assistant(self, index: int) -> None:
        message = self.messages[index]
        shown = self._keeps or index > self.last_user
        if not self.is_open:
            self._open(ASSISTANT, thinks=shown)
        thought = ""
        if self.settings.thinking and shown:
            self._refuse_thoughtless(index)
            thought = text_of(message, "reasoning_content") + END_THINK
        self._add(f"{thought}{text_of(message)}{tool_calls_text(V32_TAGS, message)}{EOS}")
        self.is_open = False

    def _refuse_thoughtless(self, index: int) -> None:
        message = self.messages[index]
        if self._keeps or text_of(message, "reasoning_content") or tool_calls(message):
            return
        raise self._fault("has neither reasoning nor tool calls", index)

    def _result(self, index: int) -> None:
        caller = index - 1
        while caller >= 0 and self.messages[caller]["role"] == "tool":
            caller -= 1
        expected = len(tool_calls(self.messages[caller])) if caller >= 0 else 0
        number = index - caller
        if number > expected:
            raise self._fault("is a tool result that no call before it asked for", index)
        if number == 1:
            self._add("\n\n<function_results>")
        self._add(f"\n<result>{text_of(self.messages[index])}</result>")
        self.unanswered = expected - number
        if not self.unanswered:
            self._add("\n</function_results>")
            self._open("\n\n", thinks=self._keeps or index >= self.last_user)

    def _fault(self, what: str, index: int) -> EncodingFault:
        given = index - self.offset
        return EncodingFault(f"the message {what}", given if given >= 0 else None)


def _introduction(tools: Sequence[Tool]) -> str:
    """The text that introduces tools."""
    calls, end_calls = opening(V32_TAGS.calls), closing(V32_TAGS.calls)
    return "\n".join(
        (
            "## Tools",
            "You have access to a set of tools you can use to answer the user's question.",
            f'You can invoke functions by writing a "{calls}" block like the following as part of your reply '
            "to the user:",
            calls,
            opening(V32_TAGS.invoke, ' name="$FUNCTION_NAME"'),
            opening(V32_TAGS.parameter, ' name="$PARAMETER_NAME" string="true|false"')
            + "$PARAMETER_VALUE"
            + closing(V32_TAGS.parameter),
            "...",
            closing(V32_TAGS.invoke),
            opening(V32_TAGS.invoke, ' name="$FUNCTION_NAME2"'),
            "...",
            closing(V32_TAGS.invoke),
            end_calls,
            "String and scalar parameters should be specified as is without any escaping or quotes, while "
            'lists and objects should use JSON format. The "string" attribute should be set to "true" for '
            'string type parameters and "false" for other types (numbers, booleans, arrays, objects).',
            "If the thinking_mode is enabled, then after function results you should strongly consider "
            "outputting a thinking block. Here is an example:",
            calls,
            "...",
            end_calls,
            "<function_results>",
            "...",
            "</function_results>",
            f"{THINK}...thinking about results{END_THINK}",
            "Here are the functions available in JSONSchema format:",
            "<functions>",
            schema_lines(tools),
            "</functions>\n",
        )
    )


__all__ = ["KWARGS", "encode"]
