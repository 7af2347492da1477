"""docs/verify-template.md says what the program says, and its commands run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import TEMPLATE
from titocli.__main__ import main
from titocli.cli.verify_ignore import IGNORE_FILE, rules_of
from titocli.cli.verify_template import Report
from titocli.verify.checks.pages import PAGES
from titocli.verify.events import CheckId, FailureKind

PAGE = (Path(__file__).parents[2] / "docs" / "verify-template.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    return str(found)


@pytest.mark.parametrize("command", block("console").strip().splitlines())
def test_every_command_of_the_page_runs(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("chat_template.jinja", "fixed.jinja", "native.jinja"):
        (tmp_path / name).write_text(TEMPLATE)
    quick = () if "--explain" in command else ("--examples", "0", "--save", "off")
    code = main([*shlex.split(command)[1:], *quick])

    # The toy template prints no tools.
    assert code == int("template.jinja" in command or "fixed.jinja" in command)
    assert capfd.readouterr().out


def test_the_page_tells_of_each_check_what_explain_tells() -> None:
    told = " ".join(PAGE.split())
    sections = re.findall(r"^### (\S+)$", PAGE, re.MULTILINE)

    assert sections == [check.value for check in CheckId]
    for page in PAGES.values():
        section = f"### {page.id.value} *{page.summary}* {page.what} Why: {page.why} Fix: {page.fix}"
        assert " ".join(section.split()) in told, page.id


def test_the_ignore_file_of_the_page_is_one(tmp_path: Path) -> None:
    path = tmp_path / IGNORE_FILE
    path.write_text(block("toml"))
    (rule,) = rules_of(str(path))

    assert (rule.check, rule.kind) == (CheckId.APPEND_ONLY, FailureKind.GENERATION_PROMPT_LOST)
    assert (rule.target, rule.reason) == ("qwen*", "a frozen checkpoint")
    assert f"`{IGNORE_FILE}`" in PAGE
    assert f"`--report {'|'.join(['text', 'json', 'junit', 'html', 'github'])}`" in PAGE
    assert {*Report} == {"text", "json", "junit", "html", "github"}
