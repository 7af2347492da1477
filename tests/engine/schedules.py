"""The schedules by which a session is verified against a real engine, played with the official clients.

One cycle is a tool result, a user's follow-up with its tool result, a system reminder, a rollback.  The whole
is a cycle, a second rollback right after its own, the other cycles, a forced final answer, and assistant
messages of the client's own: they are no turns, so they come last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import openai
from openai.lib.streaming.chat import ChatCompletionStreamState

from tests.engine.test_conversation_live import ANSWER, CALL, TOOL

Message = dict[str, Any]


class Action(StrEnum):
    """What the client does before it asks."""

    TOOL_RESULT = "tool_result"
    USER_FOLLOWUP = "user_followup"
    SYSTEM_REMINDER = "system_reminder"
    ROLLBACK = "rollback"
    FORCE_FINAL = "force_final"
    ASSISTANT_INPUT = "assistant_input"


def schedule(cycles: int) -> list[Action]:
    """Every action, for a family that can append every role."""
    cycle = [
        *(Action.TOOL_RESULT, Action.USER_FOLLOWUP, Action.TOOL_RESULT),
        *(Action.SYSTEM_REMINDER, Action.ROLLBACK),
    ]
    ends = [Action.FORCE_FINAL, Action.ASSISTANT_INPUT]
    return [*cycle, Action.ROLLBACK, *(cycle * (cycles - 1)), *ends]


@dataclass
class Agent:
    """Plays a schedule; a turn without calls where a result was due is answered as an unparsed call is."""

    client: openai.OpenAI
    streamed: bool
    #: Told after each turn: the turn's parent and the prompt ids that the engine says it read.
    after: Callable[[int | None, list[int]], None]
    messages: list[Message] = field(
        default_factory=lambda: [
            {"role": "system", "content": "You are a weather assistant."},
            {"role": "user", "content": "What's the weather in Beijing?"},
        ]
    )
    events: Counter[str] = field(default_factory=Counter)
    #: The turns of the path that the conversation stands for.
    path: list[int] = field(default_factory=list)
    turns: int = 0

    def play(self, actions: list[Action]) -> None:
        """Ask once, and once after each action."""
        # The last result that is due is due to a turn without calls.
        silent = max(at for at, action in enumerate(actions) if action is Action.TOOL_RESULT)
        for number, following in enumerate([*actions, None]):
            calls = following in (Action.TOOL_RESULT, Action.ROLLBACK) and number != silent
            self._ask(CALL if calls else ANSWER)
            if following is not None:
                self.events.update(self._act(following))

    def _act(self, action: Action) -> Iterator[str]:
        yield action
        if action is Action.TOOL_RESULT:
            yield self._give_results()
        elif action is Action.ROLLBACK:
            self.messages.pop()
            self.path.pop()
        elif action is Action.SYSTEM_REMINDER:
            self.messages.append({"role": "system", "content": "Be brief."})
        elif action is Action.ASSISTANT_INPUT:
            self.messages += [{"role": "assistant", "content": text} for text in ("I think ü.", "So it is.")]
            self.messages.append({"role": "user", "content": "Do you agree?"})
        else:
            text = {Action.USER_FOLLOWUP: "Now check the weather in Shanghai."}.get(action, "The answer now.")
            self.messages.append({"role": "user", "content": text})

    def _give_results(self) -> str:
        calls = self.messages[-1].get("tool_calls") or []
        ids = [call["id"] for call in calls]
        for call_id in ids or ["none"]:
            text = "7 degrees, ü\u2028" if ids else "parsing failed"
            self.messages.append({"role": "tool", "tool_call_id": call_id, "content": text})
        return "results" if ids else "append_tool"

    def _ask(self, spoken: str) -> None:
        steering = {
            "regex": spoken,
            "chat_template_kwargs": {"enable_thinking": False},
            "return_prompt_token_ids": True,
            # A random model ends every other turn with <|endoftext|>, which no render of the turn has.
            "logit_bias": {"151643": -100},
        }
        asked: Any = {"model": "tiny", "messages": self.messages, "tools": [TOOL], "max_tokens": 300}
        ask = self._streamed if self.streamed else self._whole
        choice, read = ask(asked, steering)
        assert choice.finish_reason != "length"
        self.messages.append(choice.message.model_dump(exclude_none=True))
        parent = self.path[-1] if self.path else None
        self.path.append(self.turns)
        self.turns += 1
        self.after(parent, read)

    def _whole(self, asked: Any, steering: Any) -> tuple[Any, list[int]]:
        choice = self.client.chat.completions.create(**asked, extra_body=steering).choices[0]
        return choice, choice.model_extra["prompt_token_ids"]

    def _streamed(self, asked: Any, steering: Any) -> tuple[Any, list[int]]:
        state: Any = ChatCompletionStreamState()
        read: list[int] = []
        for chunk in self.client.chat.completions.create(**asked, extra_body=steering, stream=True):
            state.handle_chunk(chunk)
            for choice in chunk.choices:
                read = (choice.model_extra or {}).get("prompt_token_ids") or read
        return state.get_final_completion().choices[0], read


__all__ = ["Action", "Agent", "schedule"]
