"""The conversations that a template is probed with.

They are spelled in letters, one a message, and every text in them is a word of its own, so that it can be
found again in what the template prints:

======  ==========================================================
letter  message
======  ==========================================================
``S``   system
``U``   user
``I``   user, with a picture beside the text
``A``   assistant with reasoning and content
``a``   assistant with content, without reasoning
``C``   assistant with reasoning, content and one tool call
``c``   assistant with one tool call and empty content
``D``   assistant with reasoning and two tool calls
``T``   the result of the next tool call that has none yet
======  ==========================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from titocli.families.family import Role
from titocli.jsonvalue import JsonObject, JsonValue, Message, Tool

TOOL_NAME = "lookup"
#: How the word of every reasoning begins.
REASONING_WORD = "thought"
TOOLS: tuple[Tool, ...] = (
    {
        "type": "function",
        "function": {
            "name": TOOL_NAME,
            "description": "Looks something up.",
            "parameters": {
                "type": "object",
                "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
                "required": ["query"],
            },
        },
    },
)
_CALLS = {"C": 1, "c": 1, "D": 2}
_PICTURE: JsonObject = {"type": "image", "image": "data:image/png;base64,iVBORw0KGgo="}


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A conversation of ``letters``, with tools or without."""

    letters: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...]

    @property
    def turn_ends(self) -> tuple[int, ...]:
        """The numbers of messages after which an assistant turn has just ended."""
        return tuple(end for end, message in enumerate(self.messages, 1) if message["role"] == Role.ASSISTANT)

    def states_after(self, turn_end: int, roles: Sequence[Role]) -> Iterator[int]:
        """Ends of the states that a session may reach from there: ``roles`` appended, and answers."""
        for end in range(turn_end + 1, len(self.letters) + 1):
            before, role = (self.messages[index]["role"] for index in (end - 2, end - 1))
            answered = role == Role.ASSISTANT != before
            if role not in roles and not answered:
                return
            if self.letters[end - 1 : end + 1] != "TT":
                yield end

    def words(self, index: int) -> tuple[str, ...]:
        """The words that a template prints of message ``index`` when it prints all of it."""
        message = self.messages[index]
        return tuple(word for word in (reasoning_word(message), content_word(message)) if word)


def probe(letters: str, *, tools: bool | None = None) -> Probe:
    """The conversation of ``letters``; with tools where it has calls, unless ``tools`` says otherwise."""
    with_tools = any(letter in _CALLS for letter in letters) if tools is None else tools
    return Probe(letters=letters, messages=tuple(_messages(letters)), tools=TOOLS if with_tools else ())


def content_word(message: Message) -> str:
    """The word of a message's content, "" where that is empty."""
    content = message["content"]
    if isinstance(content, str):
        return content
    part = content[0] if isinstance(content, Sequence) else None
    return str(part["text"]) if isinstance(part, dict) else ""


def reasoning_word(message: Message) -> str:
    """The word of a message's reasoning, "" without any."""
    return str(message.get("reasoning_content", ""))


def _messages(letters: str) -> Iterator[Message]:
    waiting: list[str] = []
    for index, letter in enumerate(letters):
        if letter in _CALLS:
            waiting = [_call_id(index, number) for number in range(_CALLS[letter])]
        call_id = waiting.pop(0) if letter == "T" and waiting else _call_id(index, 0)
        yield _message(letter, index, call_id)


def _message(letter: str, index: int, call_id: str) -> Message:
    if letter in "SU":
        return {"role": (Role.SYSTEM if letter == "S" else Role.USER).value, "content": f"said{index}x"}
    if letter == "I":
        return {"role": Role.USER.value, "content": [{"type": "text", "text": f"said{index}x"}, _PICTURE]}
    if letter == "T":
        return {"role": Role.TOOL.value, "content": f"result{index}x", "tool_call_id": call_id}
    message: dict[str, JsonValue] = {"role": Role.ASSISTANT.value, "content": f"said{index}x"}
    if letter == "c":
        message["content"] = ""
    if letter in "ACD":
        message["reasoning_content"] = f"{REASONING_WORD}{index}x"
    if letter in _CALLS:
        message["tool_calls"] = [tool_call(index, number) for number in range(_CALLS[letter])]
    return message


def tool_call(index: int, number: int) -> JsonObject:
    """A call of the one tool in message ``index``."""
    arguments: JsonObject = {"query": f"value{index}n{number}x", "limit": 7}
    return {
        "id": _call_id(index, number),
        "type": "function",
        "function": {"name": TOOL_NAME, "arguments": arguments},
    }


def _call_id(index: int, number: int) -> str:
    # The form that Kimi's models write; other templates print it nowhere.
    return f"functions.{TOOL_NAME}:{index * 2 + number}"


#: What may be rewritten: reasoning and its absence before and after users, tool runs, a system in between.
REWRITING = tuple(
    probe(letters)
    for letters in (
        "UAUAU",
        "UaUaU",
        "UCTAU",
        "UcTaU",
        "SUADTTAUAU",
        "SUCTCTAUCTA",
        "UAAU",
        "UAaU",
        "UASUA",
        "UCTSU",
        "AUA",
    )
)
#: What a kwarg may change: all that a template prints.
EFFECTS = (*REWRITING, probe("UA", tools=True), probe("SUA", tools=True), probe("IAIA"))


__all__ = [
    "EFFECTS",
    "REASONING_WORD",
    "REWRITING",
    "TOOLS",
    "TOOL_NAME",
    "Probe",
    "content_word",
    "probe",
    "reasoning_word",
    "tool_call",
]
