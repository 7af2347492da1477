"""JUnit XML, as CI systems read it: a suite a target, a test case a check."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from titocli.report.verification.passages import passage
from titocli.report.verification.runs import CheckResult, Run
from titocli.report.visible import escaped
from titocli.verify.events import Failure, Status


def junit(made: Sequence[Run]) -> bytes:
    """The document, in UTF-8."""
    root = ET.Element("testsuites", name="titocli verify-template")
    for run in made:
        root.append(_suite(run))
    ET.indent(root)
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _suite(run: Run) -> ET.Element:
    states = [check.status for check in run.checks]
    suite = ET.Element(
        "testsuite",
        name=_xml_text(run.target.name),
        tests=str(len(states)),
        failures=str(states.count(Status.FAILED)),
        skipped=str(states.count(Status.SKIPPED)),
        errors="0",
        time=f"{run.finished.seconds:.3f}",
    )
    suite.extend(_case(run, check) for check in run.checks)
    return suite


def _case(run: Run, check: CheckResult) -> ET.Element:
    case = ET.Element("testcase", classname=_xml_text(run.target.name), name=check.check.value)
    if check.status is Status.SKIPPED:
        ET.SubElement(case, "skipped", message=_xml_text(check.finished.reason or ""))
    if check.failures:
        # A test case has one failure element: the first failure, with the others in its text.
        first = check.failures[0]
        element = ET.SubElement(case, "failure", type=first.kind.value, message=_xml_text(first.sentence))
        element.text = "\n\n".join(map(_described, check.failures))
    if check.ignored:
        out = ET.SubElement(case, "system-out")
        out.text = "\n".join(
            _xml_text(f"ignored: {each.failure.kind.value}: {each.reason}") for each in check.ignored
        )
    return case


def _described(failure: Failure) -> str:
    line = failure.at.template
    parts = [
        failure.sentence,
        f"case: {failure.case.name} ({len(failure.case.messages)} messages)",
        f"template: {line.file}:{line.line}" if line else "",
        f"expected: {passage(failure.expected, failure.at.character).shown}",
        f"actual:   {passage(failure.actual, failure.at.character).shown}",
        f"reproduce: {failure.reproduce}" if failure.reproduce else "",
    ]
    return "\n".join(_xml_text(part) for part in parts if part)


def _xml_text(text: str) -> str:
    """XML has no control characters and no surrogates: they are written as escapes."""
    return escaped(text)


__all__ = ["junit"]
