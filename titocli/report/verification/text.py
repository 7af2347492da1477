"""The report for a terminal: every check on a line, every failure with its place and its difference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from typing import TYPE_CHECKING

from titocli.jsonvalue import JsonValue, Message
from titocli.report.result import Drawing
from titocli.report.verification.passages import passage
from titocli.report.verification.runs import CheckResult, Run
from titocli.report.visible import escaped, one_line
from titocli.verify.events import Failure, Status, TemplateLine, TemplatesCompared

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_STYLES = {Status.PASSED: "green", Status.FAILED: "bold red", Status.SKIPPED: "dim"}
#: Characters of one message's text that are shown.
_MESSAGE = 60
#: Names of failing cases that are shown.
_NAMES = 3
#: Lines of a source difference that are shown.
_DIFF_LINES = 60


def draw_verification(made: Sequence[Run]) -> Drawing:
    """Draws all runs; several targets without failures take one line each."""

    def draw(console: Console) -> None:
        for run in made:
            for line in _run(run, short=len(made) > 1):
                console.print(line, soft_wrap=True)
        if len(made) > 1:
            console.print(_total(made), soft_wrap=True)

    return draw


def _run(run: Run, *, short: bool) -> Iterator[Text]:
    if short and run.finished.status is Status.PASSED:
        yield _verdict(run)
        return
    yield _line((run.target.name, "bold"), (f"  {run.target.template}", "dim"))
    for note in run.target.notes:
        yield _line((f"  {one_line(note)}", "dim"))
    yield from _compared(run.compared)
    for check in run.checks:
        yield from _check(check)
    if run.finished.gaps:
        yield _line((f"  never occurred: {', '.join(run.finished.gaps)}", "yellow"))
    yield _verdict(run)


def _compared(compared: TemplatesCompared | None) -> Iterator[Text]:
    if compared is None:
        return
    # Templates end without a newline as often as with one; only their lines matter here.
    before, after = compared.their_source.split("\n"), compared.our_source.split("\n")
    lines = list(unified_diff(before, after, compared.theirs, compared.ours, lineterm=""))
    if not lines:
        yield _line(("  the sources of the two templates are equal", "dim"))
    for line in lines[:_DIFF_LINES]:
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "dim")
        yield _line((f"  {escaped(line)}", style))
    if len(lines) > _DIFF_LINES:
        yield _line((f"  ... {len(lines) - _DIFF_LINES} more lines of difference", "dim"))


def _check(check: CheckResult) -> Iterator[Text]:
    finished = check.finished
    detail = finished.reason or f"{finished.cases} conversations"
    if finished.failing:
        detail = f"{finished.failing} of {detail}"
    if finished.refused:
        detail += f", {finished.refused} refused by the template"
    yield _line(
        (f"  {finished.status.value:<8}", _STYLES[finished.status]),
        (finished.check.value, ""),
        (f"  {detail}", "dim"),
    )
    for ignored in check.ignored:
        yield _line((f"      ignored {ignored.failure.kind.value}: {one_line(ignored.reason)}", "dim"))
    for failure in check.failures:
        yield from _failure(failure)


def _failure(failure: Failure) -> Iterator[Text]:
    at = failure.at
    yield _line(("    ", ""), (failure.kind.value, "bold"), (f": {one_line(failure.sentence)}", ""))
    for number, message in enumerate(failure.case.messages):
        yield _line((f"      {number} {_shown(message)}", "bold" if number == at.message else ""))
    for name, value in failure.case.kwargs.items():
        yield _line((f"      kwarg {name}={value!r}", ""))
    if failure.case.tools:
        yield _line((f"      {len(failure.case.tools)} tools", ""))
    yield _line((f"      at {_place(failure)}", "dim"))
    for word, text, style in (("expected", failure.expected, "green"), ("actual  ", failure.actual, "red")):
        yield _line((f"      {word} ", "dim"), (passage(text, at.character).shown, style))
    yield from _template("printed by", at.template)
    yield from _template("instead by", at.actual_template)
    yield _line((f"      {_counted(failure)}", "dim"))
    if failure.reproduce:
        yield _line(("      reproduce: ", "dim"), (failure.reproduce, "cyan"))


def _place(failure: Failure) -> str:
    at = failure.at
    where = "the generation prompt" if at.message is None else f"message {at.message} ({at.role})"
    token = "" if at.token is None else f", token {at.token}"
    return f"{where}, character {at.character}{token}"


def _template(word: str, line: TemplateLine | None) -> Iterator[Text]:
    if line is not None:
        yield _line((f"      {word} {line.file}:{line.line}: ", "dim"), (escaped(line.text.strip()), ""))


def _counted(failure: Failure) -> str:
    names = ", ".join(failure.cases[:_NAMES])
    more = f" and {len(failure.cases) - _NAMES} more" if len(failure.cases) > _NAMES else ""
    return f"seen in {names}{more}; made smaller from {failure.shrunk_from} messages"


def _shown(message: Message) -> str:
    parts = [str(message["role"]), _text(message.get("content"))]
    reasoning = message.get("reasoning_content")
    if reasoning is not None:
        parts.append(f"reasoning {_text(reasoning)}")
    calls = message.get("tool_calls")
    if isinstance(calls, Sequence) and not isinstance(calls, str):
        parts += [_call(call) for call in calls]
    return "  ".join(parts)


def _text(value: JsonValue) -> str:
    shown = value if isinstance(value, str) else repr(value)
    cut = shown if len(shown) <= _MESSAGE else f"{shown[:_MESSAGE]}..."
    return f'"{escaped(cut)}"' if isinstance(value, str) else escaped(cut)


def _call(call: JsonValue) -> str:
    function = call.get("function", call) if isinstance(call, Mapping) else {}
    if not isinstance(function, Mapping):
        return "call"
    return f"call {function.get('name')}({_text(function.get('arguments'))})"


def _verdict(run: Run) -> Text:
    finished = run.finished
    word = finished.status.value
    failures = f", {finished.failures} failures" if finished.failures else ""
    told = f" {run.target.name}: {finished.cases} conversations{failures} in {finished.seconds:.1f} s"
    return _line((word, _STYLES[finished.status]), (told, ""), (f" (seed {run.started.seed})", "dim"))


def _total(made: Sequence[Run]) -> Text:
    failed = sum(run.finished.status is Status.FAILED for run in made)
    status = Status.FAILED if failed else Status.PASSED
    told = f" {len(made)} targets" + (f", {failed} of them failed" if failed else "")
    return _line((status.value, _STYLES[status]), (told, ""))


def _line(*parts: tuple[str, str]) -> Text:
    # Here, for rich is only loaded where something is drawn.
    from rich.text import Text  # noqa: PLC0415

    return Text.assemble(*parts)


__all__ = ["draw_verification"]
