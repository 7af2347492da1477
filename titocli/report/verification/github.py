"""Workflow commands of GitHub Actions: each failure as an annotation at the template line that printed it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from titocli.report.verification.passages import passage
from titocli.report.verification.runs import Run
from titocli.report.visible import escaped
from titocli.verify.events import Failure, FailureIgnored, Target


def github(made: Sequence[Run]) -> bytes:
    """One command a line, in UTF-8; empty when nothing failed."""
    return "".join(f"{line}\n" for run in made for line in _commands(run)).encode()


def _commands(run: Run) -> Iterator[str]:
    for check in run.checks:
        yield from (_error(run.target, failure) for failure in check.failures)
        yield from (_notice(run.target, ignored) for ignored in check.ignored)


def _error(target: Target, failure: Failure) -> str:
    text = [
        failure.sentence,
        f"expected: {passage(failure.expected, failure.at.character).shown}",
        f"actual:   {passage(failure.actual, failure.at.character).shown}",
        *([f"reproduce: {failure.reproduce}"] if failure.reproduce else []),
    ]
    return _command("error", _properties(target, failure), text)


def _notice(target: Target, ignored: FailureIgnored) -> str:
    return _command("notice", _properties(target, ignored.failure), [f"ignored: {ignored.reason}"])


def _properties(target: Target, failure: Failure) -> dict[str, str]:
    line = failure.at.template
    place = {"file": line.file, "line": str(line.line)} if line else {}
    return {**place, "title": f"{failure.check.value}: {target.name}"}


def _command(name: str, properties: dict[str, str], lines: Iterable[str]) -> str:
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {listed}::{_data(chr(10).join(map(escaped, lines)))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(escaped(text)).replace(":", "%3A").replace(",", "%2C")


__all__ = ["github"]
