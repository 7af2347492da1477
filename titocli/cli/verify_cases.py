"""``--cases``: a user's own conversations, and the files that failures are saved in."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from titocli.cli.conversations import Conversation, conversation, read_conversations
from titocli.errors import InvalidMessages, UnreadableFile, UnwritableFile
from titocli.families.template_source import read_text
from titocli.jsonvalue import JsonObject, JsonValue
from titocli.verify.events import Case, CheckFailed, Event, Failure, RunStarted

_ENDINGS = (".json", ".jsonl")
#: Template kwargs that clients send beside the messages.
_BESIDE = ("enable_thinking", "thinking", "reasoning_effort")


def read_cases(where: str) -> tuple[Case, ...]:
    """The conversations of a file or of all JSON files of a directory, in the order of their names.

    Besides the shapes of ``render``, a line may be an object with ``id`` and ``input``, a request body: those
    without messages are left out.  Raises ``UnreadableFile``, ``InvalidJson``, ``InvalidMessages``.
    """
    path = Path(where)
    files = sorted(each for each in path.iterdir() if each.suffix in _ENDINGS) if path.is_dir() else [path]
    cases = tuple(case for file in files for case in _of_file(str(file)))
    if not cases:
        raise UnreadableFile(
            f"{where} has no conversations", hint="expected .json or .jsonl files with messages"
        )
    return cases


def _of_file(where: str) -> Iterator[Case]:
    described = _described(where)
    if described is None:
        yield from map(_case, read_conversations(where).conversations)
        return
    for entry in described:
        body = entry["input"]
        if isinstance(body, Mapping) and isinstance(body.get("messages"), Sequence):
            beside = {name: body[name] for name in _BESIDE if body.get(name) is not None}
            yield _case(conversation(str(entry.get("id", where)), body), beside)


def _described(where: str) -> list[JsonObject] | None:
    """The entries of JSONL whose lines are objects with ``input``, None for every other file."""
    if not where.endswith(".jsonl"):
        return None
    try:
        values: list[JsonValue] = [
            json.loads(line) for line in read_text(Path(where)).split("\n") if line.strip()
        ]
    except ValueError:
        return None  # said with its line by who reads conversations
    entries = [value for value in values if isinstance(value, Mapping) and "input" in value]
    return entries if values and len(entries) == len(values) else None


def _case(one: Conversation, beside: Mapping[str, JsonValue] | None = None) -> Case:
    effort: Mapping[str, JsonValue] = (
        {"reasoning_effort": one.reasoning_effort} if one.reasoning_effort else {}
    )
    if not one.messages:
        raise InvalidMessages(f"{one.place}: there are no messages")
    return Case(
        name=one.place,
        messages=tuple(one.messages),
        tools=tuple(one.tools) or None,
        kwargs={**one.kwargs, **effort, **(beside or {})},
    )


@dataclass(slots=True)
class Saving:
    """Writes each failure's conversation into ``folder`` and says how to see the failure again.

    ``options`` are the words of the command line that a run of the saved conversation needs too.
    """

    folder: Path
    options: Sequence[str]
    _target: str = ""
    _written: int = 0

    def events(self, events: Iterable[Event]) -> Iterator[Event]:
        """``events``, each failure with its file and its command; raises ``UnwritableFile``."""
        for event in events:
            if isinstance(event, RunStarted):
                self._target = event.target.name
            yield CheckFailed(failure=self._saved(event.failure)) if isinstance(event, CheckFailed) else event

    def _saved(self, failure: Failure) -> Failure:
        self._written += 1
        target = re.sub(r"[^\w.-]+", "-", Path(self._target).name) or "target"
        path = self.folder / f"{target}-{failure.check}-{self._written}.json"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            path.write_text(_document(failure), encoding="utf-8", errors="replace")
        except OSError as error:
            raise UnwritableFile(
                f"cannot write {path}: {error.strerror}", hint="name another directory with --save"
            ) from error
        words = ["titocli", "verify-template", self._target, *self.options]
        command = shlex.join([*words, "--cases", str(path), "--select", failure.check.value])
        return replace(failure, saved_as=str(path), reproduce=command)


def _document(failure: Failure) -> str:
    """The conversation in the shape of a request, which ``render`` reads too."""
    case = failure.case
    body: dict[str, JsonValue] = {"messages": list(case.messages)}
    if case.tools is not None:
        body["tools"] = list(case.tools)
    if case.kwargs:
        body["chat_template_kwargs"] = dict(case.kwargs)
    return f"{json.dumps(body, ensure_ascii=False, indent=2, default=dict)}\n"


__all__ = ["Saving", "read_cases"]
