"""One HTML page with everything in it: it works from disk, without a network and without scripts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import groupby
from typing import Any

from jinja2 import Environment, StrictUndefined

from titocli import __version__
from titocli.report.difference import unified
from titocli.report.verification.as_json import conversation_data
from titocli.report.verification.passages import passage
from titocli.report.verification.runs import CheckResult, Run
from titocli.report.visible import escaped
from titocli.verify.checks.pages import PAGES
from titocli.verify.events import Failure, Place, Status

#: Characters shown before and after the place of a failure.
_BEFORE, _AFTER = 1500, 1500


def html(made: Sequence[Run]) -> bytes:
    """The page, in UTF-8."""
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    source = files("titocli.report.verification").joinpath("page.html.jinja").read_text(encoding="utf-8")
    failed = any(run.finished.status is Status.FAILED for run in made)
    page = environment.from_string(source).render(
        version=__version__,
        verdict=(Status.FAILED if failed else Status.PASSED).value,
        cases=sum(run.finished.cases for run in made),
        failures=sum(len(run.failures) for run in made),
        runs=[_run(run) for run in made],
    )
    return f"{page}\n".encode("utf-8", "replace")


def _run(run: Run) -> dict[str, Any]:
    target, compared = run.target, run.compared
    return {
        "name": target.name,
        "status": run.finished.status.value,
        "family": target.family,
        "template": target.template,
        "sha256": target.sha256,
        "append_roles": target.append_roles,
        "notes": target.notes,
        "seed": run.started.seed,
        "seconds": f"{run.finished.seconds:.1f}",
        "cases": run.finished.cases,
        "checks": [_check(check) for check in run.checks],
        "failures": [_failure(failure) for failure in run.failures],
        "ignored": [
            {"check": each.failure.check.value, "kind": each.failure.kind.value, "reason": each.reason}
            for check in run.checks
            for each in check.ignored
        ],
        "coverage": sorted(run.coverage.items()),
        "gaps": run.finished.gaps,
        "difference": compared
        and unified(compared.our_source, compared.their_source, compared.ours, compared.theirs),
    }


def _check(check: CheckResult) -> dict[str, Any]:
    remarks = [
        check.finished.reason or "",
        f"{check.finished.failing} failed" if check.finished.failing else "",
        f"{check.finished.refused} refused by the template" if check.finished.refused else "",
        f"{len(check.ignored)} ignored" if check.ignored else "",
    ]
    return {
        "id": check.check.value,
        "summary": PAGES[check.check].summary,
        "status": check.status.value,
        "cases": check.finished.cases,
        "remark": "; ".join(filter(None, remarks)),
    }


def _failure(failure: Failure) -> dict[str, Any]:
    return {
        "check": failure.check.value,
        "kind": failure.kind.value,
        "sentence": failure.sentence,
        "case": failure.case.name,
        "also": len(failure.cases) - 1,
        "messages": len(failure.case.messages),
        "shrunk_from": failure.shrunk_from,
        "place": _place(failure.at),
        "template_lines": list(_template_lines(failure.at)),
        "kwargs": json.dumps(failure.case.kwargs, default=dict) if failure.case.kwargs else "",
        "reproduce": failure.reproduce,
        "expected_title": _title("expected", failure.turn_end),
        "actual_title": _title("actual", failure.state_end),
        "expected": _passage(failure.expected, failure.at.character),
        "actual": _passage(failure.actual, failure.at.character),
        "conversation": json.dumps(
            conversation_data(failure.case), indent=2, ensure_ascii=False, default=dict
        ),
    }


def _title(word: str, messages: int | None) -> str:
    return word if messages is None else f"{word}: the render of the first {messages} messages"


def _place(at: Place) -> str:
    parts = [
        f"character {at.character}",
        "" if at.token is None else f"token {at.token}",
        "in no message" if at.message is None else f"message {at.message} ({at.role})",
    ]
    return ", ".join(filter(None, parts))


def _template_lines(at: Place) -> Iterator[dict[str, Any]]:
    labelled = {"printed by": at.template, "instead, by": at.actual_template}
    for label, line in labelled.items():
        if line is not None:
            yield {"label": label, "file": line.file, "line": line.line, "text": line.text}


def _passage(text: str, at: int) -> dict[str, Any]:
    shown = passage(text, at, before=_BEFORE, after=_AFTER)
    return {
        "before": _parts(shown.before),
        "after": _parts(shown.after),
        "cut_before": shown.cut_before,
        "cut_after": shown.cut_after,
    }


def _parts(text: str) -> list[dict[str, Any]]:
    """Runs of visible and of invisible characters; a newline is shown and breaks the line as well."""
    return [
        {"invisible": not printable, "text": "".join(run) if printable else "".join(map(_symbol, run))}
        for printable, run in groupby(text, key=str.isprintable)
    ]


def _symbol(char: str) -> str:
    return "⏎\n" if char == "\n" else escaped(char)


__all__ = ["html"]
