"""Reported cases about the command line: a14, a28, e01, e02, e03, e05, e07, e08, e09.

What the hub itself answers is played in ``tests/cli/test_hub.py``.
"""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cases.rendering import LABELS, NAMED, assistant, user
from tests.cli.conftest import Outcome, Run, run_process
from titocli.families.registry import BUILT_IN
from titocli.families.tiny import tiny_tokenizer

TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    # The command line sets these two; this makes them go away again.
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "")


def written(name: str, value: Any) -> str:
    Path(name).write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return name


def checkpoint(family: str, **files: Any) -> str:
    """A checkpoint's directory with a tokenizer of the family and the files that are given."""
    Path(family).mkdir(exist_ok=True)
    written(f"{family}/tokenizer.json", tiny_tokenizer(BUILT_IN[family]).definition)
    for name, value in files.items():
        written(f"{family}/{name}", value)
    return family


class TestAnswersThatMentionATag:
    @pytest.mark.parametrize("family", ["qwen3", "qwen36", "glm47", "minimax_m25"])
    def test_a14_a_split_answer_is_a_warning_that_names_the_message(self, run: Run, family: str) -> None:
        chat = written("chat.json", [user(), assistant("write </think> at the end"), user("v")])
        outcome = run("render", chat, "--family", family, "--format", "text")

        assert outcome.code == 0
        assert "in message 1" in outcome.err
        assert '"reasoning_content": ""' in outcome.err

    @pytest.mark.parametrize("answer", [assistant("x"), assistant("</think>", reasoning_content="")])
    @pytest.mark.parametrize("family", ["qwen3", "inkling"])
    def test_a14_an_answer_that_is_whole_is_none(self, run: Run, family: str, answer: Any) -> None:
        chat = written("chat.json", [user(), answer, user("v")])

        assert run("render", chat, "--family", family, "--format", "text").err == ""


@pytest.mark.parametrize(
    ("family", "effort"), [("inkling", "0.5"), ("deepseekv41", "70"), ("deepseekv41", "0.3")]
)
@pytest.mark.parametrize("option", ["--reasoning-effort={}", "--kwarg=reasoning_effort={}"])
def test_a28_an_effort_in_numbers_is_no_warning(run: Run, family: str, effort: str, option: str) -> None:
    chat = written("chat.json", [user()])
    plain = run("render", chat, "--family", family, "--format", "text")
    outcome = run("render", chat, "--family", family, "--format", "text", option.format(effort))

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out != plain.out


class TestLoading:
    def test_e01_without_a_network_a_missing_model_fails_at_once_and_names_the_cache(
        self, tmp_path: Path
    ) -> None:
        start = time.monotonic()
        outcome = unreachable("owner/unseen", tmp_path, HF_HUB_OFFLINE="1")

        assert time.monotonic() - start < 10  # a retry alone would take longer, a slow machine does not
        assert outcome.code == 4
        assert outcome.out == b""
        assert outcome.err.count("\n") == 2
        assert f"not in the cache {tmp_path / 'hub' / 'hub'}" in outcome.err

    def test_e01_offline_no_connection_is_opened(self, tmp_path: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(0.1)
            endpoint = f"http://127.0.0.1:{listener.getsockname()[1]}"
            outcome = unreachable("owner/unseen", tmp_path, HF_HUB_OFFLINE="1", HF_ENDPOINT=endpoint)
            with pytest.raises(TimeoutError):
                listener.accept()

        assert outcome.code == 4

    def test_e02_a_token_is_never_printed(self, tmp_path: Path) -> None:
        outcome = unreachable("owner/unseen", tmp_path, "-vv", HF_HUB_OFFLINE="1", HF_TOKEN="hf_secretsecret")  # noqa: S106 - made up

        assert outcome.code == 4
        assert "secretsecret" not in outcome.err
        assert "Traceback" not in outcome.err

    @pytest.mark.parametrize(("tools", "expected"), [([], b"D"), (TOOLS, b"T")])
    @pytest.mark.parametrize("turned", [False, True])
    def test_e03_named_templates_are_chosen_by_the_tools(
        self, run: Run, tools: list[Any], expected: bytes, turned: bool
    ) -> None:
        named = [{"name": "tool_use", "template": "T"}, {"name": "default", "template": "D"}]
        config = {"chat_template": named[::-1] if turned else named}
        where = checkpoint("qwen3", **{"tokenizer_config.json": config})
        chat = written("chat.json", {"messages": [user()], "tools": tools})
        argv = ("render", chat, "--family", "default", "--tokenizer", where)

        assert run(*argv, "--format", "text").out == expected
        assert run(*argv, "--template-name", "default", "--format", "text").out == b"D"

    def test_e03_a_file_counts_before_the_config(self, run: Run) -> None:
        config = {"chat_template": [{"name": "default", "template": "D"}]}
        files = {"tokenizer_config.json": config, "chat_template.jinja": "FILE"}
        chat = written("chat.json", [user()])
        argv = ("render", chat, "--family", "qwen3", "--tokenizer", checkpoint("qwen3", **files))
        outcome = run(*argv, "--against", "hf", "--json")

        assert outcome.document["data"]["comparison"]["with"].endswith("chat_template.jinja")
        assert "-FILE" in outcome.document["data"]["comparison"]["diff"]

    def test_e03_a_name_that_none_has_lists_those_there_are(self, run: Run) -> None:
        config = {"chat_template": [{"name": "rag", "template": "R"}, {"name": "default", "template": "D"}]}
        where = checkpoint("qwen3", **{"tokenizer_config.json": config})
        argv = ("render", "--family", "qwen3", "--tokenizer", where, "--against", "hf", "--template-name")
        outcome = run(*argv, "ragg")

        assert outcome.code == 2
        assert "did you mean 'rag'? (known: default, rag)" in outcome.err
        assert b"config.json (template rag)" in run(*argv, "rag").out

    @pytest.mark.parametrize(
        ("template", "says"),
        [
            ("nope.jinja", "no such file"),
            (".", "is a directory"),
            ("{{ messages }}", "no such file"),
            ("x" * 300, "cannot read"),
        ],
    )
    def test_e05_a_template_is_a_file_and_never_its_own_text(
        self, run: Run, template: str, says: str
    ) -> None:
        outcome = run("render", "--family", "qwen3", "--template", template)

        assert (outcome.code, outcome.out) == (3, b"")
        assert says in outcome.err

    @pytest.mark.parametrize("argv", [("--help",), ("families",), ("render", "--family", "qwen3")])
    def test_e07_nothing_needs_a_home(self, tmp_path: Path, argv: tuple[str, ...]) -> None:
        nowhere = str(tmp_path / "file" / "home")
        (tmp_path / "file").write_text("a file, so that no directory can be made in it")
        variables = ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "HF_HOME")
        outcome = run_process(*argv, stdin=b"", **dict.fromkeys(variables, nowhere))

        assert outcome.code == 0
        assert len(outcome.out) > 100
        assert outcome.err.replace("note: this is the built-in sample", "").count("\n") <= 1

    @pytest.mark.parametrize("family", [label for label in NAMED if BUILT_IN[label].encoder is not None])
    def test_e08_without_a_template_the_encoder_is_the_reference_and_that_is_said(
        self, run: Run, family: str
    ) -> None:
        argv = ("render", "--family", family, "--tokenizer", checkpoint(family), "--against", "hf")
        same = run(*argv, "--json").document
        other = run(*argv, "--template", written("mine.jinja", "mine"))

        assert same["data"]["comparison"]["same"] is True
        assert [warning["code"] for warning in same["warnings"]] == ["no_own_template"]
        assert other.code == 1
        assert b"+mine" in other.out

    def test_e08_a_family_with_a_template_needs_the_checkpoints(self, run: Run) -> None:
        where = checkpoint("qwen3")
        outcome = run("render", "--family", "qwen3", "--tokenizer", where, "--against", "hf")

        assert outcome.code == 3
        assert "has no chat template" in outcome.err

    def test_e08_an_unknown_family_is_told_the_nearest(self, run: Run) -> None:
        outcome = run("render", "--family", "deepsekv32")

        assert outcome.code == 2
        assert "did you mean 'deepseekv32'?" in outcome.err


def unreachable(repository: str, folder: Path, *argv: str, **environment: str) -> Outcome:
    given = {"HF_ENDPOINT": "http://127.0.0.1:9", **environment}
    command = ("render", "--family", "qwen3", "--tokenizer", repository, "--format", "ids")
    return run_process(*argv, *command, stdin=b"", HF_HOME=str(folder / "hub"), **given)


#: Pairs of texts that look the same.
INVISIBLE = [
    ("x y\n\n", "x y\n", "\\n"),
    ("x\u00a0y", "x y", "\\xa0"),
    ("x\u2028y", "x\ny", "\\u2028"),
    ("x y", "x y ", "[x y ]'"),
]


class TestDifferences:
    @pytest.fixture(autouse=True)
    def _templates(self) -> None:
        written("mine.jinja", "{% for m in messages %}[{{ m.content }}]{% endfor %}")

    @pytest.mark.parametrize(("ours", "theirs", "shown"), INVISIBLE)
    def test_e09_a_difference_that_no_line_shows_is_escaped_with_its_place(
        self, run: Run, ours: str, theirs: str, shown: str
    ) -> None:
        chat = written("chat.json", [user("é"), user(ours)])
        other = written("other.jinja", "{% for m in messages %}[{{ m.content | replace(a, b) }}]{% endfor %}")
        written(
            "other.jinja",
            Path(other).read_text().replace("a, b", f"{json.dumps(ours)}, {json.dumps(theirs)}"),
        )
        argv = ("render", chat, "--family", "qwen3", "--template", "mine.jinja", "--against", other)
        outcome = run(*argv)
        first = run(*argv, "--json").document["data"]["comparison"]["first_differences"][0]

        pairs = enumerate(zip(f"{ours}]", f"{theirs}]", strict=False))
        at = len("[é][") + next(index for index, (left, right) in pairs if left != right)
        assert outcome.code == 1
        assert f"character {at} (byte {at + 1}, message 1)" in outcome.err
        assert shown in outcome.err
        assert "\x1b" not in outcome.err + outcome.out.decode()
        assert (first["character"], first["byte"], first["message"], first["token"]) == (at, at + 1, 1, None)

    def test_e09_with_a_tokenizer_the_token_is_named(self, run: Run) -> None:
        chat = written("chat.json", [user("<|im_end|>x")])
        options = ("--tokenizer", checkpoint("qwen3"), "--control-tokens", "keep")
        written("other.jinja", "[<|im_end|>y]")
        argv = ("render", chat, "--family", "qwen3", "--template", "mine.jinja", "--against", "other.jinja")
        first = run(*argv, *options, "--json").document["data"]["comparison"]["first_differences"][0]

        # The bracket, the one token of the mark, then the letter.
        assert (first["character"], first["token"]) == (11, 2)

    def test_e09_a_file_is_compared_with_the_same_words(self, run: Run) -> None:
        chat = written("chat.json", [user("x ")])
        outcome = run(
            "render",
            chat,
            "--family",
            "qwen3",
            "--template",
            "mine.jinja",
            "--check",
            written("expected.txt", "[x]"),
            "--format",
            "text",
        )

        assert outcome.code == 1
        assert (
            "first differs at character 2 (byte 2, message 0): '[x ]' here, '[x]' in expected.txt"
            in outcome.err
        )

    def test_e09_what_is_the_same_says_nothing_of_places(self, run: Run) -> None:
        argv = ("render", written("chat.json", [user("x ")]), "--family", "qwen3", "--template", "mine.jinja")
        outcome = run(*argv, "--against", "mine.jinja", "--json").document

        assert outcome["exit_code"] == 0
        assert outcome["data"]["comparison"]["first_differences"] == []


def test_the_labels_of_cases_are_families() -> None:
    assert {label.partition("-")[0] for label in LABELS} <= set(BUILT_IN)
