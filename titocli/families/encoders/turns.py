"""Turns of DeepSeek V4 and V4.1, which know no tool role.

Tool results are blocks of a user's turn: adjacent tool and user messages are one turn.  Its results stand in
the order of the calls that they answer, in the places that results had.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from titocli.families.encoders.dsml import (
    ASSISTANT,
    END_THINK,
    EOS,
    THINK,
    text_of,
    tool_calls,
    with_tools_host,
)
from titocli.families.encoders.settings import EncodingFault, Settings
from titocli.jsonvalue import Message, Tool

_FOLDED = frozenset({"user", "tool"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What is printed as one: several user and tool messages (role ``user``), or one other message.

    ``index`` is its place in the whole conversation, context included.
    """

    index: int
    role: str
    messages: tuple[Message, ...]
    order: Mapping[object, int]

    @property
    def user_text(self) -> str:
        """The text of a user's turn, after its token."""
        results = iter(sorted((m for m in self.messages if m["role"] == "tool"), key=self._call_number))
        placed = (next(results) if message["role"] == "tool" else message for message in self.messages)
        return "\n\n".join(map(_piece, placed))

    def _call_number(self, result: Message) -> int:
        return self.order.get(result.get("tool_call_id"), 0)


def _piece(message: Message) -> str:
    text = text_of(message)
    return f"<tool_result>{text}</tool_result>" if message["role"] == "tool" else text


PrintTurn: TypeAlias = Callable[[Turn, Sequence[Tool], bool], str]


def turns_of(messages: Sequence[Message], context: Sequence[Message] = ()) -> list[Turn]:
    """The turns of ``messages``, numbered after those of the context."""
    callers = [message for message in context if tool_calls(message)]
    return _folded(messages, len(_groups(context)), _order(callers[-1]) if callers else {})


def _folded(messages: Sequence[Message], first: int, order: Mapping[object, int]) -> list[Turn]:
    turns: list[Turn] = []
    for index, group in enumerate(_groups(messages), start=first):
        role = str(group[0]["role"])
        turns.append(Turn(index=index, role="user" if role in _FOLDED else role, messages=group, order=order))
        if role == "assistant" and tool_calls(group[0]):
            order = _order(group[0])
    return turns


def _groups(messages: Sequence[Message]) -> list[tuple[Message, ...]]:
    groups: list[tuple[Message, ...]] = []
    for message in messages:
        if message["role"] in _FOLDED and groups and groups[-1][0]["role"] in _FOLDED:
            groups[-1] += (message,)
        else:
            groups.append((message,))
    return groups


def _order(caller: Message) -> dict[object, int]:
    """The numbers of a message's calls by id."""
    return {call["id"]: number for number, call in enumerate(tool_calls(caller)) if call.get("id")}


def turns_text(
    messages: Sequence[Message],
    *,
    tools: Sequence[Tool],
    settings: Settings,
    asks: Callable[[Turn], bool],
    print_turn: PrintTurn,
) -> str:
    """The text of all turns, assistant turns with their openers.

    ``asks`` says which turns are answered; ``print_turn`` gets a turn, the tools where the turn carries them,
    and whether an assistant's reasoning is shown.
    """
    turns = turns_of(with_tools_host(messages, tools), settings.context)
    # Histories with tools keep their thinking in any case.
    keeps = bool(tools) or not settings.drop_thinking
    last_question = max((turn.index for turn in turns if asks(turn)), default=-1)
    # A question at the end of the context has opened its answer there.
    is_open = any(map(asks, turns_of(settings.context)[-1:]))
    pieces: list[str] = []
    for number, turn in enumerate(turns):
        thinks = settings.thinking and (keeps or turn.index > last_question)
        if turn.role == "assistant" and not (number == 0 and is_open):
            pieces.append(opener(thinks=thinks))
        pieces.append(print_turn(turn, () if number else tools, thinks))
    return "".join(pieces)


def assistant_text(turn: Turn, calls_text: str, *, thinks: bool) -> str:
    """An assistant's turn after its opener, to its stop token."""
    message = turn.messages[0]
    thought = text_of(message, "reasoning_content") + END_THINK if thinks else ""
    return f"{thought}{text_of(message)}{calls_text}{EOS}"


def opener(*, thinks: bool) -> str:
    """What opens an assistant's turn."""
    return ASSISTANT + (THINK if thinks else END_THINK)


def unknown_role(role: str) -> EncodingFault:
    """The fault of a role that no encoder prints."""
    return EncodingFault(f"the role {role[:40]!r} is unknown")


__all__ = [
    "Turn",
    "assistant_text",
    "opener",
    "turns_of",
    "turns_text",
    "unknown_role",
]
