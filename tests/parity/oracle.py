"""Asks transformers, in a process of its own, to render a chat."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from tests.json_lines import answering, ask

#: The program to run with an interpreter that has transformers.
ORACLE_SCRIPT = Path(__file__).with_name("native_oracle.py")


@dataclass(frozen=True)
class NativeRender:
    """What transformers made of a chat: text, or the error that the template raised."""

    text: str | None
    error: str | None


class Renders(Protocol):
    """Whatever renders chats as a checkpoint's own template does."""

    def render(
        self,
        template: Path | None,
        messages: Sequence[Mapping[str, object]],
        /,
        *,
        tools: Sequence[Mapping[str, object]] | None = None,
        kwargs: Mapping[str, object] | None = None,
        generation_prompt: bool,
    ) -> NativeRender: ...


class Oracle:
    """transformers in a process of its own; one question at a time."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    @cached_property
    def version(self) -> str:
        """The version of transformers."""
        return str(self._ask({"version": True})["transformers"])

    def render(
        self,
        template: Path | None,
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
        answer = self._ask(request)
        return NativeRender(answer.get("text"), answer.get("error"))

    def _ask(self, request: Mapping[str, object]) -> dict[str, str]:
        answer: dict[str, str] = ask(self._process, request)
        return answer


@contextmanager
def running_transformers(python: str) -> Iterator[Oracle]:
    """The oracle of the transformers of an interpreter, for as long as it is needed."""
    with answering(python, str(ORACLE_SCRIPT)) as process:
        yield Oracle(process)
