"""``titocli verify-template``: what is checked, what is written, and how it exits."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from tests.cli.conftest import TEMPLATE, Run
from titocli.cli.verify_template import EXAMPLES
from titocli.report.verification.as_json import schema_text
from titocli.verify.checks.pages import PAGES
from titocli.verify.events import CheckId

QUICK = ("--examples", "3")
ONLY_HISTORY = ("--select", "append-only")
FORGETFUL = TEMPLATE.replace("{{ m.content }}", "{{ m.content if loop.last else '' }}")


@pytest.fixture
def forgetful(folder: Path) -> Path:
    path = folder / "forgetful.jinja"
    path.write_text(FORGETFUL)
    return path


def test_a_family_passes_and_every_check_has_its_line(run: Run) -> None:
    outcome = run("verify-template", "deepseekv4", *QUICK)

    text = outcome.out.decode()
    assert outcome.code == 0
    assert all(f" {check.value} " in text for check in CheckId)
    assert "skipped hf-parity" in text
    assert "passed deepseekv4: " in text
    assert outcome.err == ""


def test_a_counterexample_is_shown_with_its_place_its_lines_and_the_command_that_shows_it_again(
    run: Run, forgetful: Path
) -> None:
    outcome = run("verify-template", "forgetful.jinja", *QUICK, *ONLY_HISTORY)

    text = outcome.out.decode()
    assert outcome.code == 1
    assert "history_rewritten: appending " in text
    assert "printed by forgetful.jinja:4: {{ m.content if loop.last else '' }}" in text
    assert "at message 0 (" in text
    reproduce = next(line for line in text.splitlines() if "reproduce:" in line).split("reproduce: ")[1]
    assert reproduce.startswith("titocli verify-template forgetful.jinja --cases titocli-failures/forgetful")
    again = run(*shlex.split(reproduce)[1:])
    assert again.code == 1
    assert "history_rewritten" in again.out.decode()


def test_the_saved_conversation_is_one_that_render_reads(run: Run, forgetful: Path, folder: Path) -> None:
    run("verify-template", "forgetful.jinja", *QUICK, *ONLY_HISTORY)

    (first, *_) = sorted((folder / "titocli-failures").iterdir())
    assert len(json.loads(first.read_text())["messages"]) <= 6
    outcome = run(
        "render", str(first), "--family", "qwen3", "--template", "forgetful.jinja", "--format", "text"
    )
    assert outcome.code == 0


def test_nothing_is_saved_where_nobody_wants_it(run: Run, forgetful: Path, folder: Path) -> None:
    outcome = run("verify-template", "forgetful.jinja", *QUICK, *ONLY_HISTORY, "--save", "off")

    assert outcome.code == 1
    assert "reproduce" not in outcome.out.decode()
    assert not (folder / "titocli-failures").exists()


def test_json_has_the_keys_of_the_contract(run: Run, forgetful: Path) -> None:
    outcome = run("verify-template", "forgetful.jinja", *QUICK, "--json")

    document = outcome.document
    assert (document["schema"], document["status"], document["exit_code"]) == (
        "titocli/verify-template/1",
        "failed",
        1,
    )
    data = document["data"]
    assert {"target", "checks", "cases", "seconds", "seed"} <= set(data)
    checks = {check["id"]: check for check in data["checks"]}
    assert set(checks) == set(CheckId)
    (failure, *_) = checks["append-only"]["failures"]
    assert {"case", "conversation", "kwargs", "expected", "actual", "at", "reproduce"} <= set(failure)


def test_a_template_is_held_to_a_family_and_compared_with_another(run: Run, folder: Path) -> None:
    (folder / "ours.jinja").write_text(TEMPLATE)
    (folder / "theirs.jinja").write_text(TEMPLATE.replace("<|im_end|>", "<|end|>"))
    outcome = run(
        "verify-template",
        "ours.jinja",
        "--against",
        "theirs.jinja",
        *QUICK,
        "--select",
        "hf-parity",
        "--save",
        "off",
    )

    text = outcome.out.decode()
    assert outcome.code == 1
    assert "renders_differ" in text
    assert "+{{ m.content }}{{ ' shouting' if loud }}<|im_end|>" in text
    same = run("verify-template", "ours.jinja", "--against", "ours.jinja", *QUICK, "--select", "hf-parity")
    assert same.code == 0
    held = run(
        "verify-template",
        "ours.jinja",
        "--family",
        "qwen3",
        *QUICK,
        "--select",
        "kwargs-guard",
        "--save",
        "off",
    )
    assert held.code == 1
    assert "clear_thinking" in held.out.decode()


def test_kwargs_and_append_roles_change_the_contract(run: Run, folder: Path) -> None:
    (folder / "t.jinja").write_text(
        FORGETFUL.replace("if loop.last else ''", "if loop.last or keep or m.role != 'assistant' else ''")
    )
    assert run("verify-template", "t.jinja", *QUICK, *ONLY_HISTORY, "--save", "off").code == 1
    assert run("verify-template", "t.jinja", *QUICK, *ONLY_HISTORY, "--kwarg", "keep=true").code == 0
    only_tools = run(
        "verify-template", "t.jinja", *QUICK, *ONLY_HISTORY, "--append-role", "tool", "--save", "off"
    )
    assert "appending tool" in only_tools.out.decode()
    assert "appending user" not in only_tools.out.decode()


def test_cases_are_a_file_a_directory_or_lines_with_an_input(run: Run, folder: Path) -> None:
    messages = [{"role": "user", "content": "hi"}]
    (folder / "cases").mkdir()
    (folder / "cases" / "a.json").write_text(json.dumps({"messages": messages, "tools": []}))
    (folder / "cases" / "b.jsonl").write_text(
        f"{json.dumps(messages)}\n{json.dumps({'messages': messages})}\n"
    )
    entry = {"id": "x1", "input": {"messages": messages, "enable_thinking": False}}
    (folder / "described.jsonl").write_text(
        f"{json.dumps(entry)}\n{json.dumps({'id': 'x2', 'input': {'text': 1}})}\n"
    )
    several = run("verify-template", "qwen3", "--cases", "cases", "--json").document["data"]
    assert several["cases"] == 3
    described = run("verify-template", "qwen3", "--cases", "described.jsonl", "--json").document["data"]
    assert (described["cases"], described["coverage"]["kwarg enable_thinking=False"]) == (1, 1)


def test_lines_with_an_input_may_hold_any_character_and_any_case(run: Run, folder: Path) -> None:
    """A case file of that shape: other kinds of cases beside conversations, and what breaks line readers."""
    question = {"role": "user", "content": "left\u2028right"}
    entries = [
        {"id": "separator", "kind": "text", "input": {"messages": [question]}},
        {"id": "switched", "input": {"messages": [question], "enable_thinking": False, "thinking": None}},
        {"id": "by-kwargs", "input": {"messages": [question], "chat_template_kwargs": {"loud": 1}}},
        {"id": "late-system", "input": {"messages": [question, {"role": "system", "content": "s"}]}},
        {"id": "unasked", "input": {"messages": [{"role": "tool", "tool_call_id": "x", "content": "r"}]}},
        {"id": "wire", "input": {"turn1": [], "turn2": []}},
    ]
    lines = "\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries)
    (folder / "described.jsonl").write_text(lines)
    words = ("--cases", "described.jsonl", "--json", "--save", "off")
    data = run("verify-template", "qwen36", *words).document["data"]

    assert (data["status"], data["cases"]) == ("passed", 5)
    assert data["coverage"]["text line separator"] == 4
    assert data["coverage"]["kwarg enable_thinking=False"] == 1
    # A system message where the contract has no place for one, a result without a call: refused, not failed.
    refused = {check["id"]: check["refused"] for check in data["checks"]}
    assert refused["append-only"] == refused["tool-shapes"] == 2
    rewritten = TEMPLATE.replace("{{ m.content }}", "{{ m.content if m.role != 'user' or loop.last }}")
    (folder / "edits.jinja").write_text(rewritten)
    failed = run("verify-template", "edits.jinja", *words, *ONLY_HISTORY).document["data"]["checks"][0]
    assert failed["failures"][0]["case"] == "late-system"


def test_a_checkpoints_directory_is_checked_by_its_own_template_and_tokenizer(run: Run, folder: Path) -> None:
    (folder / "Qwen3" / "chat_template.jinja").write_text(TEMPLATE)
    outcome = run("verify-template", "Qwen3", *QUICK, "--json", "--save", "off")

    assert outcome.document["data"]["target"] == "Qwen3"
    assert outcome.document["data"]["template"].startswith("Qwen3")
    checks = {check["id"]: check["status"] for check in outcome.document["data"]["checks"]}
    assert checks["boundary-tokens"] != "skipped"


def test_every_family_is_checked_with_all(run: Run) -> None:
    outcome = run("verify-template", "--all", "--examples", "0", *ONLY_HISTORY, "--jobs", "1")

    lines = outcome.out.decode().splitlines()
    assert outcome.code == 0
    assert len(lines) > 20
    assert any(line.startswith("passed glm47:5.1: ") for line in lines)
    assert lines[-1].startswith(f"passed {len(lines) - 1} targets")


def test_the_checks_are_listed(run: Run) -> None:
    text = run("verify-template", "--list-checks").out.decode()
    assert [line.split()[0] for line in text.splitlines()] == [check.value for check in CheckId]
    listed = run("verify-template", "--list-checks", "--json").document["data"]["checks"]
    assert [each["id"] for each in listed] == [check.value for check in CheckId]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("qwen33",), 2, "did you mean 'qwen3'"),
        (("qwen3", "--select", "apend-only"), 2, "did you mean 'append-only'"),
        (("qwen3", "--ignore", "nothing"), 2, "unknown check 'nothing'"),
        (("qwen3", "--all"), 2, "--all and a target exclude each other"),
        (("qwen3", "--family", "qwen3"), 2, "is no file"),
        (("qwen3", "--against", "hf"), 2, "--against hf needs --tokenizer"),
        (("qwen3", "--kwarg", "clear_thinking=true"), 2, "fixes the template kwarg 'clear_thinking'"),
        (("default",), 2, "has no template of its own"),
        (("missing.jinja",), 3, "no such file: missing.jinja"),
        (("syntax.jinja",), 3, "syntax.jinja:1:7"),
        (("raises.jinja",), 3, "raises.jinja:1: the template raised"),
        (("endless.jinja",), 3, "endless.jinja: the template does more work"),
        (("growing.jinja",), 3, "growing.jinja: the template does more work"),
        (("latin.jinja",), 3, "latin.jinja is not UTF-8 text"),
        (("utf16.jinja",), 3, "utf16.jinja is not UTF-8 text"),
        (("qwen3", "--cases", "missing.json"), 3, "no such file: missing.json"),
        (("qwen3", "--cases", "bad.json"), 3, "bad.json:1:2: not JSON"),
        (("qwen3", "--cases", "nobody.json"), 3, "message 0 has the unknown role"),
        (("qwen3", "--tokenizer", "missing"), 3, ""),
        ((), 2, ""),
    ],
)
def test_what_cannot_be_checked_says_why_and_exits(
    run: Run, folder: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    (folder / "syntax.jinja").write_text("{% if %}")
    (folder / "raises.jinja").write_text("{{ raise_exception('never') }}")
    (folder / "endless.jinja").write_text(
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    )
    (folder / "growing.jinja").write_text(
        "{% set ns = namespace(x='ab') %}{% for a in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}"
    )
    (folder / "latin.jinja").write_bytes("{{ 'é' }}".encode("latin-1"))
    (folder / "utf16.jinja").write_bytes("{{ 'é' }}".encode("utf-16"))
    (folder / "bad.json").write_text("{bad")
    (folder / "nobody.json").write_text('[{"role": "nobody"}]')
    outcome = run("verify-template", *words)

    assert outcome.code in {code, 4 if "missing" in words else code}
    assert said in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    "attempt",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ messages|attr('__class__') }}",
        "{{ '{0.__class__}'.format(messages) }}",
        "{{ messages.append(1) }}",
        "{{ cycler.__init__.__globals__ }}",
    ],
)
def test_a_template_that_reaches_out_of_its_sandbox_fails_that_check_and_names_itself(
    run: Run, folder: Path, attempt: str
) -> None:
    (folder / "attack.jinja").write_text(f"{attempt}{TEMPLATE}")
    outcome = run("verify-template", "attack.jinja", *QUICK, "--save", "off")

    assert outcome.code == 1
    assert "sandbox_escape: attack.jinja:1: the template " in outcome.out.decode()


def test_an_error_under_report_json_is_a_document_too(run: Run) -> None:
    outcome = run("verify-template", "missing.jinja", "--report", "json")

    assert (outcome.code, outcome.document["status"]) == (3, "error")


def test_reports_for_machines_are_written_where_they_are_wanted(
    run: Run, forgetful: Path, folder: Path
) -> None:
    outcome = run(
        "verify-template",
        "forgetful.jinja",
        *QUICK,
        *ONLY_HISTORY,
        "--report",
        "junit",
        "--output",
        "verify.xml",
    )

    assert (outcome.code, outcome.out) == (1, b"")
    assert "<failure" in (folder / "verify.xml").read_text()


def test_the_json_document_follows_the_shipped_schema(run: Run, forgetful: Path, folder: Path) -> None:
    (folder / "titocli-ignore.toml").write_text(IGNORE)
    lines = ("forgetful.jinja", "--against", "toy.jinja"), ("--all", "--select", "sandbox", "--jobs", "1")
    for words in (*lines, ("missing.jinja",), ("qwen3", "--select", "sandbox")):
        document = run("verify-template", *words, "--examples", "1", "--json").document
        jsonschema.validate(document, json.loads(schema_text()))
        assert document["schema"] == "titocli/verify-template/1"


def test_the_page_needs_nothing_but_itself(run: Run, forgetful: Path, folder: Path) -> None:
    words = ("forgetful.jinja", *QUICK, "--report", "html", "--output", "page.html", "--save", "off")
    outcome = run("verify-template", *words)

    page = (folder / "page.html").read_text()
    assert (outcome.code, outcome.out) == (1, b"")
    assert page.startswith("<!doctype html>")
    assert "forgetful.jinja:4" in page
    assert not re.search(r"<script|<link|@import|(?:src|href)=[\"'](?!#)|url\(", page)


IGNORE = """
[[ignore]]
check = "append-only"
target = "forgetful*"
reason = "only the last message is ever read"
"""


def test_a_failure_of_the_ignore_file_is_shown_and_does_not_count(
    run: Run, forgetful: Path, folder: Path
) -> None:
    (folder / "titocli-ignore.toml").write_text(IGNORE)
    words = ("verify-template", "forgetful.jinja", *QUICK, *ONLY_HISTORY)
    outcome = run(*words)

    assert outcome.code == 0
    assert "ignored history_rewritten: only the last message is ever read" in outcome.out.decode()
    assert outcome.err == ""
    assert not (folder / "titocli-failures").exists()
    (folder / "titocli-ignore.toml").rename(folder / "other.toml")
    assert run(*words, "--save", "off").code == 1
    assert run(*words, "--ignore-file", "other.toml").code == 0


def test_a_rule_that_covers_nothing_is_warned_of_once(run: Run, forgetful: Path, folder: Path) -> None:
    waiting = IGNORE.replace("forgetful*", "glm47")
    unused = IGNORE.replace("reason", 'kind = "generation_prompt_lost"\nreason')
    (folder / "titocli-ignore.toml").write_text(IGNORE + unused + waiting)
    words = ("verify-template", "forgetful.jinja", *QUICK)
    outcome = run(*words, *ONLY_HISTORY)

    assert outcome.code == 0
    (warning, _) = outcome.err.splitlines()
    assert "append-only (generation_prompt_lost) of forgetful* covers no failure" in warning
    (told,) = run(*words, *ONLY_HISTORY, "--json").document["warnings"]
    assert told["code"] == "unused_ignore_rule"
    assert run(*words, "--select", "sandbox").err == ""


def test_fail_fast_does_not_stop_at_what_is_ignored(run: Run, forgetful: Path, folder: Path) -> None:
    words = ("verify-template", "forgetful.jinja", *QUICK, *ONLY_HISTORY, "--fail-fast", "--save", "off")
    stopped = run(*words, "--json").document["data"]["cases"]
    (folder / "titocli-ignore.toml").write_text(IGNORE)
    outcome = run(*words, "--json")

    assert outcome.code == 0
    assert outcome.document["data"]["cases"] > stopped == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[ignore]]\ncheck = "sandbox"', "rules.toml: ignore rule 1 gives no reason"),
        ('[[ignore]]\ncheck = "sandbx"\nreason = "x"', "rules.toml: unknown check 'sandbx'"),
        ("[[ignore]", "rules.toml is not TOML"),
    ],
)
def test_a_rule_that_is_none_is_refused(run: Run, folder: Path, text: str, said: str) -> None:
    (folder / "rules.toml").write_text(text)
    outcome = run("verify-template", "qwen3", "--ignore-file", "rules.toml")

    assert outcome.code == 2
    assert said in outcome.err


def test_an_ignore_file_that_was_named_must_be_there(run: Run) -> None:
    outcome = run("verify-template", "qwen3", "--ignore-file", "nowhere.toml")

    assert (outcome.code, outcome.out) == (3, b"")
    assert "no such file: nowhere.toml" in outcome.err


@pytest.mark.parametrize("check", list(CheckId))
def test_every_check_is_explained(run: Run, check: CheckId) -> None:
    page = PAGES[check]
    text = run("verify-template", "--explain", check.value).out.decode()

    assert text.startswith(f"{check.value}: {page.summary}\n")
    assert max(map(len, text.splitlines())) <= 100
    data = run("verify-template", "--explain", check.value, "--json").document["data"]
    assert data == {
        "id": check.value,
        "summary": page.summary,
        "what": page.what,
        "why": page.why,
        "fix": page.fix,
    }
    assert " ".join(text.split()).count(page.fix) == 1


def test_a_check_that_does_not_exist_has_no_page(run: Run) -> None:
    outcome = run("verify-template", "--explain", "append-onl")

    assert outcome.code == 2
    assert "did you mean 'append-only'" in outcome.err


_TIMED = """
import json, resource, sys, time
def yardstick():
    started = time.process_time()
    for number in range(200_000):
        len({"role": str(number), "content": [number]}["role"])
    return time.process_time() - started
before = yardstick()
from titocli.__main__ import main
code = main(sys.argv[1:])
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
heavy = sorted({"torch", "transformers", "sglang"} & sys.modules.keys())
own = sum(one.ru_utime + one.ru_stime for one in used) - before
print(json.dumps([own, (before + yardstick()) / 2, code, heavy]))
"""
#: Seconds that the yardstick takes on the core whose seconds the limits mean; verify-template takes 1.2 there.
_YARDSTICK_SECONDS = 0.032


def cpu_seconds(*words: str, limit: float) -> float:
    """The least of at most three runs, processes that it started included; more than ``limit`` is tried again.

    Cores differ, and one that is shared does less in a second: the seconds are those of a yardstick's core.
    """
    seconds: list[float] = []
    for _ in range(3):
        command = [sys.executable, "-c", _TIMED, "verify-template", *words, "--save", "off"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        spent, yardstick, code, heavy = json.loads(done.stdout.splitlines()[-1])
        assert (code, heavy) == (0, [])
        seconds.append(float(spent) * _YARDSTICK_SECONDS / yardstick)
        if seconds[-1] < limit:
            break
    return min(seconds)


@pytest.mark.parametrize("family", ["qwen3", "nemotron3"])
def test_one_family_takes_two_seconds_of_work_and_loads_nothing_heavy(family: str) -> None:
    assert cpu_seconds(family, limit=2) < 2


def test_all_families_take_sixty_seconds_of_work_which_is_thirty_on_two_cores() -> None:
    assert cpu_seconds("--all", "--jobs", "2", limit=60) < 60


@pytest.mark.parametrize("example", [line for line in EXAMPLES.strip().splitlines() if "--all" not in line])
def test_every_example_in_help_runs(run: Run, folder: Path, example: str) -> None:
    for name in ("chat_template.jinja", "fixed.jinja", "native.jinja", "Qwen3/chat_template.jinja"):
        (folder / name).write_text(TEMPLATE)
    (folder / "failing.json").write_text(json.dumps([{"role": "user", "content": "hi"}]))
    words = shlex.split(example.partition("  # ")[0])[1:]
    outcome = run(*words, *(() if {"--list-checks", "--explain"} & {*words} else QUICK))

    assert outcome.code in (0, 1), outcome.err
    assert outcome.out
