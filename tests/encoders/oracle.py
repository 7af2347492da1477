"""Asks SGLang's encoders, in a process of their own, to encode a chat.

llm-router-utils 0.8.1 carries them: ``encoding_dsv32`` is byte for byte that of SGLang 0.5.23, which encodes
V4 and V4.1 with DeepSeek's compiled reference encoder instead.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.assets import unavailable
from tests.assets.packages import LLM_ROUTER_UTILS, AssetUnavailable, Member, fetch_member
from tests.json_lines import answering, ask

ORACLE_SCRIPT = Path(__file__).with_name("sglang_oracle.py")
SHA256 = {
    "encoding_dsv32": "c9da7a1638f77df97e07dd538c5439cee9f3cb04a8e4d9fbf7d74410d9e46c41",
    "encoding_dsv4": "4c2b93ebdb9f14b4c2fe9820368b1a91e15d610d548e25392d94c88e5eafe251",
    "encoding_dsv41": "9c29c810c440589f2456df36ecf754a5083244f5d5887c64d6735f32b538ea4c",
}

Edit = tuple[str, str]

_THINK = '(thinking_start_token if thinking_mode == "thinking" and {shown} else thinking_end_token)'
#: Every assistant turn has an opener: deviation ``EVERY_TURN_OPENED``.
OPENS_EVERY_TURN: Mapping[str, Edit] = {
    "encoding_dsv32": (
        '        summary_content = content or ""\n',
        '        summary_content = content or ""\n'
        '        before = [m["role"] for m in messages[:index] if m["role"] != "system"]\n'
        '        if before[-1:] not in (["user"], ["tool"]):\n'
        '            prompt += "<｜Assistant｜>" + ' + _THINK.format(shown="index > last_user_idx") + "\n",
    ),
    "encoding_dsv4": (
        '        rc = reasoning_content or ""\n',
        '        rc = reasoning_content or ""\n'
        '        if not (index and messages[index - 1]["role"] == "user"):\n'
        "            prompt += ASSISTANT_SP_TOKEN + "
        + _THINK.format(shown="(not drop_thinking or index > last_user_idx)")
        + "\n",
    ),
    "encoding_dsv41": (
        '        rc = reasoning_content or ""\n',
        '        rc = reasoning_content or ""\n'
        '        if not (index and (messages[index - 1]["role"] == "user" or '
        '(index > 1 and messages[index - 1]["role"] == "system"))):\n'
        "            prompt += ASSISTANT_SP_TOKEN + "
        + _THINK.format(shown="(not drop_thinking or index > last_user_idx)")
        + "\n",
    ),
}
#: V3.2 with ``drop_thinking`` false: each message as it is printed when nothing follows it
#: (``KEEPS_THINKING``), and no message refused for having no thought (``EMPTY_THOUGHT``).
KEEPS_THINKING: Sequence[Edit] = (
    (
        '    last_user_idx = find_last_user_index(messages)\n\n    role = msg.get("role")',
        '    last_user_idx = find_last_user_index(messages[: index + 1])\n\n    role = msg.get("role")',
    ),
    ("            if not (reasoning_content or tool_calls):", "            if False:"),
)


@dataclass(frozen=True)
class EncoderOracle:
    """One of SGLang's encoders in a process of its own; one question at a time."""

    module: str
    process: subprocess.Popen[str]

    def encode(
        self,
        messages: Sequence[Mapping[str, object]],
        *,
        tools: Sequence[Mapping[str, object]] = (),
        kwargs: Mapping[str, object],
        edits: Sequence[Edit] = (),
    ) -> str | None:
        """The text, None where the encoder raises."""
        named = {name: value for name, value in kwargs.items() if name != "thinking"}
        named["thinking_mode"] = "thinking" if kwargs.get("thinking", True) else "chat"
        request = {
            "edits": list(edits),
            # V4.1's server leaves out an empty system message, which that encoder would print.
            "hosts_always": self.module != "encoding_dsv41" and not kwargs.get("context"),
            "messages": list(messages),
            "tools": list(tools),
            "kwargs": named,
        }
        answer: str | None = ask(self.process, request).get("text")
        return answer


def encoder_file(module: str) -> Path:
    """The file of one encoder."""
    member = Member(
        LLM_ROUTER_UTILS,
        f"llm_router_utils/sglang/srt/entrypoints/openai/{module}.py",
        SHA256[module],
    )
    try:
        return fetch_member(member, f"encoders/{module}.py")
    except AssetUnavailable as error:
        unavailable(str(error))


@contextmanager
def running_oracle(module: str) -> Iterator[EncoderOracle]:
    """The oracle of one encoder, for as long as it is needed."""
    with answering(sys.executable, str(ORACLE_SCRIPT), str(encoder_file(module))) as process:
        yield EncoderOracle(module, process)
