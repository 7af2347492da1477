"""Every report of a verification, read back by what reads it elsewhere."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from tests.report.streams import NASTY, TARGET, failure, other_target, stream
from titocli.report.envelope import envelope
from titocli.report.result import Status as Outcome
from titocli.report.verification.as_json import schema_text, verification_data
from titocli.report.verification.github import github
from titocli.report.verification.html import html
from titocli.report.verification.junit import junit
from titocli.report.verification.runs import Run, runs
from titocli.verify.events import CheckId, CheckStarted, Event, FailureKind, Status
from titocli.verify.ignore import Ignoring, ignore_rules


def made(*streams: list[Event]) -> list[Run]:
    return [run for events in streams for run in runs(events)]


FAILED = stream(failure())
PASSED = stream(target=other_target("glm47"))


def test_a_stream_becomes_one_run_a_target() -> None:
    first, second = runs([*FAILED, *PASSED])

    assert (first.target.name, second.target.name) == ("qwen3", "glm47")
    assert [(check.check, check.status) for check in first.checks] == [
        (CheckId.APPEND_ONLY, Status.FAILED),
        (CheckId.SANDBOX, Status.PASSED),
        (CheckId.BOUNDARY_TOKENS, Status.SKIPPED),
    ]
    assert first.failures == (failure(),)
    assert second.failures == ()
    assert first.compared is not None


def test_a_stream_that_does_not_start_with_a_run_is_a_bug() -> None:
    with pytest.raises(ValueError, match="CheckStarted before a run"):
        list(runs([CheckStarted(check=CheckId.SANDBOX)]))


@pytest.mark.parametrize("streams", [(FAILED,), (PASSED,), (FAILED, PASSED)], ids=["failed", "passed", "two"])
def test_the_json_document_follows_the_shipped_schema(streams: tuple[list[Event], ...]) -> None:
    data = verification_data(made(*streams))
    document = json.loads(envelope("verify-template", Outcome.FAILED, 1, data=data))

    jsonschema.validate(document, json.loads(schema_text()))
    assert document["data"] == data


def test_the_schema_forbids_what_the_document_does_not_have() -> None:
    document = json.loads(
        envelope("verify-template", Outcome.FAILED, 1, data=verification_data(made(FAILED)))
    )
    del document["data"]["checks"][0]["failures"][0]["reproduce"]

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, json.loads(schema_text()))


def test_the_schema_knows_every_check() -> None:
    assert json.loads(schema_text())["$defs"]["check_id"]["enum"] == [check.value for check in CheckId]


def test_a_failure_in_json_has_all_that_a_program_needs() -> None:
    data: Any = verification_data(made(FAILED))
    shown = data["checks"][0]["failures"][0]

    assert shown["conversation"]["messages"][0] == {"role": "user", "content": NASTY}
    assert shown["also"] == ["generated-17"]
    assert shown["at"] == {
        "character": len(f"head {NASTY} "),
        "token": 4,
        "message": 0,
        "role": "user",
        "template": {"file": "qwen3.jinja", "line": 7, "text": "{{- content }}"},
        "actual_template": None,
    }
    assert shown["expected"].endswith(" expected tail\n")
    assert (shown["turn_end"], shown["state_end"], shown["shrunk_from"]) == (2, 3, 9)


def test_junit_counts_and_describes() -> None:
    root = ET.fromstring(junit(made(FAILED, PASSED)))  # noqa: S314 - our own document
    first, second = root.findall("testsuite")

    assert [first.get(key) for key in ("name", "tests", "failures", "skipped", "time")] == [
        "qwen3",
        "3",
        "1",
        "1",
        "1.250",
    ]
    assert second.get("failures") == "0"
    failed, passed, skipped = first.findall("testcase")
    told = failed.find("failure")
    assert told is not None
    assert told.get("message") == failure().sentence
    assert told.get("type") == "history_rewritten"
    assert "template: qwen3.jinja:7" in str(told.text)
    assert "»expected tail\\n" in str(told.text)
    assert "--select append-only" in str(told.text)
    assert list(passed) == []
    assert skipped.find("skipped").get("message") == "no tokenizer"  # type: ignore[union-attr] # it is there


def test_github_annotations_are_one_line_each_and_cannot_be_forged() -> None:
    line, end = github(made(FAILED)).decode().split("\n")

    assert end == ""
    assert line.startswith("::error file=qwen3.jinja,line=7,title=append-only%3A qwen3::")
    assert "\x1b" not in line
    assert "%250A" in line  # the text's own %0A is no line break
    assert github(made(PASSED)) == b""


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.tags: set[str] = set()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.addresses += [value or "" for name, value in attrs if name in {"href", "src"}]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_stands_alone_and_shows_both_sides() -> None:
    page = _Page()
    page.feed(html(made(FAILED, PASSED)).decode())

    assert "b" not in page.tags  # text of a conversation is text
    assert "script" not in page.tags
    assert all(address.startswith("#") for address in page.addresses)
    assert "expected tail" in page.text
    assert "actual tail" in page.text
    assert "\\x1b[31m\\x00\\t]]>" in page.text
    assert "2 targets, 234 conversations, 1 failure" in page.text
    assert "qwen3.jinja:7" in page.text
    assert "-one\n+two" in page.text
    assert "reasoning null" in page.text


def test_long_texts_are_cut_around_the_place() -> None:
    from dataclasses import replace

    long = replace(failure(), expected="x" * 50_000 + "E" + "y" * 50_000, actual="x" * 50_000 + "A")
    long = replace(long, at=replace(long.at, character=50_000))
    page = html(made(stream(long))).decode()

    assert len(page) < 40_000
    assert re.search(r"… 48500 characters …", page)
    assert ">Ey" in page


def rules(**rule: str) -> Ignoring:
    return Ignoring(ignore_rules({"ignore": [rule]}))


def test_an_ignored_failure_does_not_count_and_is_shown_with_its_reason() -> None:
    ignoring = rules(check="append-only", target="qwen*", reason="the old checkpoint is frozen")
    (run,) = runs(ignoring.events(FAILED))

    assert run.finished.status is Status.PASSED
    assert (run.finished.failures, run.failures) == (0, ())
    assert run.checks[0].status is Status.PASSED
    assert ignoring.unused == ()
    data: Any = verification_data([run])
    assert data["checks"][0]["ignored"][0]["reason"] == "the old checkpoint is frozen"
    assert b"the old checkpoint is frozen" in html([run])
    assert github([run]).startswith(b"::notice ")
    assert b"ignored: history_rewritten: the old checkpoint is frozen" in junit([run])


@pytest.mark.parametrize(
    "rule",
    [
        {"check": "sandbox"},
        {"check": "append-only", "target": "glm*"},
        {"check": "append-only", "kind": "generation_prompt_lost"},
    ],
)
def test_a_rule_covers_only_what_it_names(rule: dict[str, str]) -> None:
    ignoring = rules(**rule, reason="x")
    (run,) = runs(ignoring.events(FAILED))

    assert run.finished.status is Status.FAILED
    assert run.failures == (failure(),)
    assert len(ignoring.unused) == 1


def test_one_failure_of_two_still_counts() -> None:
    lost = failure(kind=FailureKind.GENERATION_PROMPT_LOST)
    ignoring = rules(check="append-only", kind="generation_prompt_lost", reason="x")
    (run,) = runs(ignoring.events(stream(failure(), lost)))

    assert run.failures == (failure(),)
    assert run.checks[0].status is Status.FAILED
    assert run.finished.failures == 1


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"ignore": [{"check": "append-only"}]}, "gives no reason"),
        ({"ignore": [{"check": "append-only", "reason": "  "}]}, "gives no reason"),
        ({"ignore": [{"reason": "x"}]}, "names no check"),
        ({"ignore": [{"check": "append_only", "reason": "x"}]}, "append_only"),
        ({"ignore": [{"check": "sandbox", "kind": "nope", "reason": "x"}]}, "nope"),
        ({"ignore": [{"check": "sandbox", "why": "x"}]}, "why"),
        ({"ignore": [{"check": "sandbox", "reason": 3}]}, "table of strings"),
        ({"ignore": {"check": "sandbox"}}, "list of tables"),
        ({"ignored": []}, "ignored"),
    ],
)
def test_a_rule_that_cannot_be_used_is_refused(document: dict[str, Any], said: str) -> None:
    from titocli.errors import UsageError

    with pytest.raises(UsageError, match=said):
        ignore_rules(document)


def test_the_target_of_these_tests_is_one_that_rules_can_name() -> None:
    assert TARGET.name == "qwen3"
