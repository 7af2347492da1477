"""The report for programs; ``schema.json`` beside this module describes it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from titocli.jsonvalue import JsonObject, JsonValue
from titocli.report.verification.runs import CheckResult, Run
from titocli.verify.events import Case, Failure, FailureIgnored, Place, TemplateLine


def verification_data(made: Sequence[Run]) -> JsonObject:
    """``data`` of the JSON document: one run as it is, several as ``{"runs": [...]}``."""
    if len(made) == 1:
        return run_data(made[0])
    return {
        "runs": [run_data(run) for run in made],
        "cases": sum(run.finished.cases for run in made),
        "failures": sum(len(run.failures) for run in made),
        "seconds": round(sum(run.finished.seconds for run in made), 3),
        "seed": made[0].started.seed if made else None,
    }


def schema_text() -> str:
    """The JSON schema of the whole document, envelope included."""
    return files("titocli.report.verification").joinpath("schema.json").read_text(encoding="utf-8")


def run_data(run: Run) -> JsonObject:
    """One target's run."""
    target, finished = run.target, run.finished
    return {
        "target": target.name,
        "family": target.family,
        "variant": target.variant,
        "template": target.template,
        "template_sha256": target.sha256,
        "append_roles": list(target.append_roles),
        "kwargs": target.kwargs,
        "notes": list(target.notes),
        "status": finished.status.value,
        "checks": [_check(check) for check in run.checks],
        "cases": finished.cases,
        "failures": len(run.failures),
        "examples": run.started.examples,
        "seconds": round(finished.seconds, 3),
        "seed": run.started.seed,
        "coverage": dict(sorted(finished.coverage.items())),
        "gaps": list(finished.gaps),
    }


def _check(check: CheckResult) -> JsonObject:
    return {
        "id": check.check.value,
        "status": check.status.value,
        "cases": check.finished.cases,
        "failing": check.finished.failing,
        "refused": check.finished.refused,
        "reason": check.finished.reason,
        "failures": [failure_data(failure) for failure in check.failures],
        "ignored": [_ignored(ignored) for ignored in check.ignored],
    }


def _ignored(ignored: FailureIgnored) -> JsonObject:
    return {"reason": ignored.reason, "failure": failure_data(ignored.failure)}


def failure_data(failure: Failure) -> JsonObject:
    """A failure, with the whole texts."""
    return {
        "case": failure.case.name,
        "also": list(failure.cases[1:]),
        "kind": failure.kind.value,
        "sentence": failure.sentence,
        "conversation": conversation_data(failure.case),
        "kwargs": failure.case.kwargs,
        "shrunk_from": failure.shrunk_from,
        "turn_end": failure.turn_end,
        "state_end": failure.state_end,
        "expected": failure.expected,
        "actual": failure.actual,
        "at": _place(failure.at),
        "saved_as": failure.saved_as,
        "reproduce": failure.reproduce,
    }


def conversation_data(case: Case) -> JsonObject:
    """Messages and tools, as ``--cases`` and ``render`` read them."""
    tools: JsonValue = None if case.tools is None else list(case.tools)
    return {"messages": list(case.messages), "tools": tools}


def _place(place: Place) -> JsonObject:
    return {
        "character": place.character,
        "token": place.token,
        "message": place.message,
        "role": place.role,
        "template": _line(place.template),
        "actual_template": _line(place.actual_template),
    }


def _line(line: TemplateLine | None) -> JsonValue:
    return None if line is None else {"file": line.file, "line": line.line, "text": line.text}


__all__ = ["conversation_data", "failure_data", "run_data", "schema_text", "verification_data"]
