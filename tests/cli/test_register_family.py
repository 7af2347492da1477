"""``titocli register-family``: what it prints, writes, refuses; and what can be done with the result."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from tests.cli.conftest import TEMPLATE, Run
from tests.register.natives import APPEND_ONLY, REWRITING, Checkpoint, differences
from tests.register.templates import chatml
from titocli.cli.completion import family_choices, family_names
from titocli.cli.known_families import known_families
from titocli.config.paths import user_families
from titocli.families.chat_template import compile_template

#: One conversation is enough where the proof is not what is tested.
QUICK = ("--examples", "1")
TOY = ("--template", "toy.jinja", "--tokenizer", "Qwen3", *QUICK)


#: A template that keeps what it promises, with one kwarg that is written into every message.
KEEPING = chatml().replace("{{- m.content }}", "{{- m.content + (' shouting' if loud else '') }}")


@pytest.fixture(autouse=True)
def _toy(folder: Path) -> None:
    """A template of one's own, and folders of its own for configuration."""
    assert user_families().is_relative_to(folder)
    (folder / "toy.jinja").write_text(KEEPING)


def _files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*")) if folder.exists() else []


def test_a_family_is_proved_written_and_used(run: Run) -> None:
    outcome = run("register-family", "toy", *TOY)
    rendered = run("render", "chat.json", "--family", "toy", "--format", "text")
    expected = run(
        "render", "chat.json", "--family", "default", "--template", "toy.jinja", "--format", "text"
    )

    assert (outcome.code, outcome.err) == (0, "")
    assert b"boundary: glue '\\n' after <|im_end|>" in outcome.out
    assert f"written: {user_families() / 'toy.toml'}".encode() in outcome.out
    assert _files(user_families()) == ["toy.jinja", "toy.toml"]
    assert rendered.out == expected.out


def test_the_file_has_the_evidence_and_the_contract(run: Run, folder: Path) -> None:
    run("register-family", "toy", *TOY)
    text = (user_families() / "toy.toml").read_text()
    table = tomllib.loads(text)

    assert text.startswith("# Family toy, written by titocli register-family.\n# Verified: ")
    assert "\n# boundary: glue '\\n' after <|im_end|> (9 of 9 probes" in text
    assert table["pinned_kwargs"] == {"loud": [False, True]}
    assert table["checkpoints"][0]["name"] == "Qwen3"
    assert (user_families() / "toy.jinja").read_bytes() == (folder / "toy.jinja").read_bytes()


def test_a_dry_run_prints_the_file_and_writes_nothing(run: Run) -> None:
    dry = run("register-family", "toy", *TOY, "--dry-run")
    assert _files(user_families()) == []

    run("register-family", "toy", *TOY)
    assert (user_families() / "toy.toml").read_bytes() == dry.out
    assert dry.code == 0
    assert "not written (--dry-run)" in dry.err


def test_the_document_for_programs_says_everything(run: Run) -> None:
    document = run("register-family", "toy", *TOY, "--json").document
    data = document["data"]

    assert document["schema"] == "titocli/register-family/1"
    assert (document["status"], data["written"], data["refusal"]) == ("ok", True, None)
    assert data["verification"]["passed"]
    assert {check["id"] for check in data["verification"]["checks"]} >= {"append-only", "boundary-tokens"}
    assert data["family"]["boundary"] == {"rule": "glue", "after": "<|im_end|>", "text": "\n"}
    boundary = next(one for one in data["findings"] if one["name"] == "boundary")
    assert (boundary["held"], boundary["probes"]) == (9, 9)
    assert Path(data["path"]).read_text() == data["document"]


def test_a_project_family_is_seen_in_the_project_alone(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "titocli.toml").write_text("")
    run("register-family", "toy", *TOY, "--scope", "project")
    inner = folder / "deep" / "inside"
    inner.mkdir(parents=True)

    assert _files(folder / ".titocli" / "families") == ["toy.jinja", "toy.toml"]
    assert _files(user_families()) == []
    monkeypatch.chdir(inner)
    assert run("families", "show", "toy", "--json").document["data"]["family"]["origin"] == "project"
    (folder / "titocli.toml").unlink()
    (folder / ".titocli").rename(folder / "gone")
    assert run("families", "show", "toy").code == 2


def test_a_registered_family_is_listed_completed_and_suggested(run: Run) -> None:
    run("register-family", "toy", *TOY)
    listed = run("families", "--json").document["data"]["families"]

    assert [(one["name"], one["origin"]) for one in listed][-1] == ("toy", "user")
    assert family_names("to") == [("toy", "registered from Qwen3")]
    assert ("toy", "registered from Qwen3") in family_choices("")
    assert "did you mean 'toy'?" in run("render", "--family", "toi").err


def test_a_checkpoint_is_known_again_by_the_template_it_was_registered_with(run: Run, folder: Path) -> None:
    (folder / "Qwen3" / "chat_template.jinja").write_text(KEEPING)
    assert run("families", "check", "Qwen3", "--examples", "1").code == 1
    run("register-family", "toy", "--checkpoint", "Qwen3", *QUICK)

    assert run("families", "check", "Qwen3", "--json").document["data"]["family"] == "toy"
    rendered = run("render", "chat.json", "--family", "auto", "--tokenizer", "Qwen3", "--format", "ids")
    assert rendered.code == 0
    assert "is of family toy" in rendered.err


def test_launching_takes_the_parsers_of_a_registered_family(run: Run) -> None:
    run("register-family", "toy", *TOY, "--reasoning-parser", "qwen3", "--tool-call-parser", "hermes_json")
    argv = run("launch-sglang", "Qwen3", "--family", "toy", "--dry-run", "--json").document["data"]["argv"]

    assert argv[argv.index("--reasoning-parser") + 1] == "qwen3"
    assert argv[argv.index("--tool-call-parser") + 1] == "qwen"


def test_options_take_the_place_of_what_is_inferred(run: Run) -> None:
    options = ("--fixed-kwarg", "loud=false", "--pinned-kwarg", "who", "--append-role", "user")
    data = run("register-family", "toy", *TOY, *options, "--json").document["data"]

    assert data["family"]["fixed_kwargs"] == {"loud": False}
    assert data["family"]["pinned_kwargs"] == {"who": []}
    assert data["family"]["append_roles"] == ["user"]


def test_a_parser_that_titocli_does_not_have_is_passed_on_with_a_warning(run: Run) -> None:
    outcome = run("register-family", "toy", *TOY, "--reasoning-parser", "qwenn3")

    assert outcome.code == 0
    assert "titocli has no parser 'qwenn3'" in outcome.err
    assert "did you mean 'qwen3'?" in outcome.err
    assert known_families().get("toy").parsers.sglang_reasoning == "qwenn3"


def test_a_registered_family_is_not_written_over_without_force(run: Run) -> None:
    run("register-family", "toy", *TOY)
    before = (user_families() / "toy.toml").read_bytes()
    again = run("register-family", "toy", *TOY, "--append-role", "user")

    assert again.code == 2
    assert "is registered already" in again.err
    assert (user_families() / "toy.toml").read_bytes() == before
    assert run("register-family", "toy", *TOY, "--append-role", "user", "--force").code == 0
    assert (user_families() / "toy.toml").read_bytes() != before


def test_removing_a_family_takes_its_files_and_asks_nothing(run: Run) -> None:
    run("register-family", "toy", *TOY)
    outcome = run("register-family", "toy", "--remove")

    assert outcome.code == 0
    assert outcome.out.decode().splitlines() == [
        f"removed {user_families() / 'toy.toml'}",
        f"removed {user_families() / 'toy.jinja'}",
    ]
    assert _files(user_families()) == []


def test_removing_looks_in_its_scope_alone(run: Run) -> None:
    run("register-family", "toy", *TOY)
    outcome = run("register-family", "toy", "--remove", "--scope", "project")

    assert outcome.code == 2
    assert "unknown family of the project scope 'toy'" in outcome.err
    assert _files(user_families()) == ["toy.jinja", "toy.toml"]
    assert "did you mean 'toy'?" in run("register-family", "toi", "--remove").err


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (("qwen3", *TOY), 2, "'qwen3' is a built-in family"),
        (("auto", *TOY), 2, "'auto' is reserved"),
        (("../toy", *TOY), 2, "cannot be a family's name"),
        (("toy",), 2, "needs a tokenizer"),
        (("toy", "--template", "toy.jinja"), 2, "needs a tokenizer"),
        (("toy", "--checkpoint", "Qwen3"), 3, "Qwen3 has no chat template"),
        (("toy", "--checkpoint", "nowhere"), 4, "nowhere"),
        (("toy", "--template", "none.jinja", "--tokenizer", "Qwen3"), 3, "no such file: none.jinja"),
        (("toy", "--template", "chat.json", "--tokenizer", "Qwen3"), 3, "does not print a user message"),
        (("toy", "--base", "qwen", "--tokenizer", "Qwen3"), 2, "unknown family 'qwen'"),
        (("toy", *TOY, "--fixed-kwarg", "loud"), 2, "is not K=V"),
        (("toy", *TOY, "--append-role", "admin"), 2, "admin"),
        (("toy", *TOY, "--scope", "world"), 2, "world"),
        (("qwen3", "--remove"), 2, "'qwen3' is a built-in family"),
    ],
)
def test_what_cannot_be_registered_is_one_sentence(
    run: Run, argv: tuple[str, ...], code: int, said: str
) -> None:
    outcome = run("register-family", *argv)

    assert (outcome.code, outcome.out) == (code, b"")
    assert said in outcome.err
    assert outcome.err.count("error:") == 1
    assert _files(user_families()) == []


def test_a_template_that_does_not_compile_is_named_with_its_line(run: Run, folder: Path) -> None:
    (folder / "bad.jinja").write_text("{% for m in messages %}")
    outcome = run("register-family", "toy", "--template", "bad.jinja", "--tokenizer", "Qwen3")

    assert outcome.code == 3
    assert "bad.jinja:1:" in outcome.err


def test_a_template_that_never_ends_is_stopped(run: Run, folder: Path) -> None:
    (folder / "endless.jinja").write_text(
        "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}"
    )
    outcome = run("register-family", "toy", "--template", "endless.jinja", "--tokenizer", "Qwen3")

    assert outcome.code == 3
    assert "more work than any conversation needs" in outcome.err


def test_two_templates_in_one_checkpoint_are_refused(run: Run, folder: Path) -> None:
    named = [{"name": "default", "template": TEMPLATE}, {"name": "tool_use", "template": TEMPLATE}]
    (folder / "Qwen3" / "tokenizer_config.json").write_text(json.dumps({"chat_template": named}))
    outcome = run("register-family", "toy", "--checkpoint", "Qwen3")

    assert outcome.code == 2
    assert "has two templates" in outcome.err


def _forgetting(folder: Path) -> tuple[str, ...]:
    """A template that shows reasoning after the last question alone."""
    (folder / "forgets.jinja").write_text(chatml("loop.index0 > last.user"))
    return ("--template", "forgets.jinja", "--tokenizer", "Qwen3", *QUICK)


def test_a_template_that_rewrites_history_is_refused_with_the_conversation(run: Run, folder: Path) -> None:
    outcome = run("register-family", "toy", *_forgetting(folder))
    page = outcome.out.decode()

    assert outcome.code == 1
    assert "no kwargs make this template append-only" in page
    assert "forgets.jinja:7 rewrites history by loop.index0 > last.user" in page
    assert "not written: it is not proved" in page
    assert _files(user_families()) == []


def test_the_refusal_is_data_for_programs(run: Run, folder: Path) -> None:
    document = run("register-family", "toy", *_forgetting(folder), "--json").document
    refusal = document["data"]["refusal"]

    assert (document["status"], document["exit_code"]) == ("failed", 1)
    assert document["data"]["verification"] is None
    assert refusal["line"] == 7
    assert refusal["conversation"][0]["role"] == "user"
    assert 0 < refusal["turn_end"] < len(refusal["conversation"])


def test_force_writes_what_was_not_proved_and_says_so(run: Run, folder: Path) -> None:
    outcome = run("register-family", "toy", *_forgetting(folder), "--force")

    assert outcome.code == 0
    assert "was written though it was not proved" in outcome.err
    assert "# NOT verified" in (user_families() / "toy.toml").read_text()
    assert run("render", "chat.json", "--family", "toy").code == 0


def test_a_contract_that_the_template_does_not_keep_fails_its_proof(run: Run, folder: Path) -> None:
    dropping = "{{- m.content if m.role != 'system' or loop.first }}"
    (folder / "drops.jinja").write_text(KEEPING.replace("{{- m.content", dropping + "{{- m.content[9999:]"))
    options = ("--template", "drops.jinja", "--tokenizer", "Qwen3", "--examples", "20")
    refused = run(
        "register-family", "toy", *options, "--append-role", "system", "--append-role", "user", "--json"
    )
    kept = run("register-family", "toy", *options, "--json")

    assert refused.code == 1
    assert not refused.document["data"]["verification"]["passed"]
    assert refused.document["data"]["verification"]["failures"][0]["conversation"]
    assert kept.code == 0
    assert "system" not in kept.document["data"]["family"]["append_roles"]


def test_a_base_brings_contract_and_template(run: Run) -> None:
    outcome = run("register-family", "tuned", "--checkpoint", "Qwen3", "--base", "qwen3", *QUICK)
    family, base = known_families().get("tuned"), known_families().get("qwen3")

    assert outcome.code == 0
    for member in ("fixed_kwargs", "turn_kwargs", "boundary", "parsers", "deviations", "append_roles"):
        assert getattr(family, member) == getattr(base, member), member
    assert (
        run("render", "chat.json", "--family", "tuned").out
        == run("render", "chat.json", "--family", "qwen3").out
    )


def test_a_base_may_be_an_encoder(run: Run, folder: Path) -> None:
    from tests.cli.checkpoints import checkpoint

    model = checkpoint(folder / "V4", "deepseekv4")
    outcome = run("register-family", "mine", "--checkpoint", model, "--base", "deepseekv4", *QUICK)

    assert outcome.code == 0, outcome.out
    assert _files(user_families()) == ["mine.toml"]
    rendered = run("render", "chat.json", "--family", "mine", "--format", "text")
    assert rendered.out == run("render", "chat.json", "--family", "deepseekv4", "--format", "text").out


def test_stop_tokens_come_from_the_checkpoints_files(run: Run, folder: Path) -> None:
    ids = {"eos_token_id": [258, 256]}
    (folder / "Qwen3" / "generation_config.json").write_text(json.dumps(ids))
    (folder / "Qwen3" / "config.json").write_text(json.dumps({"text_config": {"eos_token_id": 256}}))
    tokens = {"eos_token": {"content": "<think>"}, "chat_template": KEEPING}
    (folder / "Qwen3" / "tokenizer_config.json").write_text(json.dumps(tokens))
    data = run("register-family", "toy", "--checkpoint", "Qwen3", *QUICK, "--json").document["data"]

    assert data["family"]["stop_tokens"] == ["<|im_end|>", "<|endoftext|>", "<think>"]


def test_a_broken_file_is_one_warning_in_the_list_and_an_error_by_its_name(run: Run) -> None:
    run("register-family", "toy", *TOY)
    path = user_families() / "toy.toml"
    path.write_text(path.read_text().replace("[boundary]", "[boundry]"))
    listed, rendered = run("families"), run("render", "--family", "toy")

    assert listed.code == 0
    assert listed.err.count("warning:") == 1
    assert "unknown key boundry" in listed.err
    assert rendered.code == 3
    assert "did you mean 'boundary'?" in rendered.err


def test_nothing_is_asked_whatever_stands_on_standard_input(run: Run) -> None:
    run("register-family", "toy", *TOY)
    again = run("register-family", "toy", *TOY, "--append-role", "user", stdin=b"y\ny\n")

    assert (again.code, again.out) == (2, b"")
    assert known_families().get("toy").append_roles != ("user",)


def test_a_folder_that_cannot_be_written_is_an_error(run: Run) -> None:
    user_families().parent.parent.mkdir(parents=True, exist_ok=True)
    user_families().parent.write_text("a file where the folder should be")

    refused = run("register-family", "toy", *TOY)
    assert refused.code == 3
    assert "Traceback" not in refused.err


@pytest.mark.assets
@pytest.mark.parametrize("one", APPEND_ONLY, ids=lambda one: one.name)
def test_a_real_checkpoint_is_registered_as_its_built_in_family(
    run: Run, folder: Path, one: Checkpoint
) -> None:
    checkpoint = one.written_to(folder / "checkpoint")
    outcome = run("register-family", "mine", "--checkpoint", str(checkpoint), *QUICK, "--json")
    family = known_families().get("mine")
    variables = compile_template(one.source).variables

    assert outcome.code == 0, outcome.document["data"]["verification"]
    assert differences(family, one.contract, variables) == []


@pytest.mark.assets
def test_a_real_checkpoint_that_rewrites_history_is_told_the_line(run: Run, folder: Path) -> None:
    one = next(one for one in REWRITING if one.template == "qwen3")
    checkpoint = one.written_to(folder / "checkpoint")
    outcome = run("register-family", "mine", "--checkpoint", str(checkpoint), *QUICK)

    assert outcome.code == 1
    assert (
        "chat_template.jinja:43 rewrites history by loop.index0 > ns.last_query_index" in outcome.out.decode()
    )
    assert (
        run("register-family", "mine", "--checkpoint", str(checkpoint), "--base", "qwen3", *QUICK).code == 0
    )
