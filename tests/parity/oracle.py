"""Asks transformers, in a process of its own, to render a chat."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

#: The program to run with an interpreter that has transformers.
ORACLE_SCRIPT = Path(__file__).with_name("native_oracle.py")


@dataclass(frozen=True)
class NativeRender:
    """What transformers made of a chat: text, or the error that the template raised."""

    text: str | None
    error: str | None


class Oracle:
    """transformers in a process of its own; one question at a time."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def render(
        self,
        template: Path,
        messages: Sequence[Mapping[str, object]],
        *,
        tools: Sequence[Mapping[str, object]] | None = None,
        kwargs: Mapping[str, object] | None = None,
        generation_prompt: bool,
    ) -> NativeRender:
        request = {
            "template_path": str(template),
            "messages": list(messages),
            "tools": None if tools is None else list(tools),
            "kwargs": dict(kwargs or {}),
            "add_generation_prompt": generation_prompt,
        }
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return NativeRender(answer.get("text"), answer.get("error"))
