"""``--family auto`` and ``--variant``: what decides, and what is said about it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.checkpoints import checkpoint, native_text
from tests.cli.conftest import Run


@pytest.mark.assets
@pytest.mark.parametrize(
    ("template", "family", "variant"),
    [
        ("qwen3.6", "qwen36", None),
        ("qwen3.5_small", "qwen35", "small"),
        ("glm5.1", "glm47", "5.1"),
        ("nemotron3_ultra", "nemotron3", "ultra"),
        ("kimi_k2.6", "kimi26", None),
    ],
)
def test_auto_is_the_family_of_the_checkpoints_template(
    run: Run, folder: Path, template: str, family: str, variant: str | None
) -> None:
    name = checkpoint(folder / "ckpt", family, native_text(template))
    outcome = run("render", "--family", "auto", "--tokenizer", name, "--format", "text")

    named = ("--family", family, *(("--variant", variant) if variant else ()))
    assert outcome.code == 0
    assert outcome.out == run("render", *named, "--format", "text").out
    shown = family if variant is None else f"{family} (variant {variant})"
    assert f"note: ckpt is of family {shown}: its chat template (sha256 " in outcome.err
    data = run("render", "--family", "auto", "--tokenizer", name, "--json").document["data"]
    assert (data["family"], data["variant"]) == (family, variant)


@pytest.mark.assets
def test_auto_reads_a_template_inside_the_tokenizer_config(run: Run, folder: Path) -> None:
    checkpoint(folder / "ckpt", "qwen3")
    config = {"chat_template": native_text("qwen3")}
    (folder / "ckpt" / "tokenizer_config.json").write_text(json.dumps(config))
    outcome = run("render", "--family", "auto", "--tokenizer", "ckpt", "--format", "text")
    assert (outcome.code, "family qwen3:" in outcome.err) == (0, True)


def test_auto_goes_by_the_config_where_no_template_is_shipped(run: Run, folder: Path) -> None:
    checkpoint(folder / "ckpt", "deepseekv4", config={"model_type": "deepseek_v4"})
    outcome = run("render", "--family", "auto", "--tokenizer", "ckpt", "--format", "text")
    assert outcome.code == 0
    assert "ckpt is of family deepseekv4 (variant preview): its config.json says model_type" in outcome.err
    assert "for variant 0731 name family and variant" in outcome.err


def test_auto_refuses_a_template_that_is_not_known_and_hints(run: Run, folder: Path) -> None:
    checkpoint(folder / "ckpt", "qwen3", "{{ messages }}", {"model_type": "qwen3"})
    outcome = run("render", "--family", "auto", "--tokenizer", "ckpt", "--format", "text")
    assert (outcome.code, outcome.out) == (2, b"")
    assert (
        "the family of ckpt cannot be told: it has a chat template that titocli does not know" in outcome.err
    )
    assert "its config.json suggests qwen3 or qwennext; see titocli families check" in outcome.err


def test_auto_refuses_a_checkpoint_without_a_template(run: Run, folder: Path) -> None:
    checkpoint(folder / "Qwen3-8B", "qwen3")
    outcome = run("render", "--family", "auto", "--tokenizer", "Qwen3-8B", "--json")
    error = outcome.document["errors"][0]
    assert (outcome.code, error["code"]) == (2, "unknown_name")
    assert error["message"] == "the family of Qwen3-8B cannot be told: it has no chat template"
    assert error["details"] == {"kind": "checkpoint", "name": "Qwen3-8B", "suggested": []}


@pytest.mark.parametrize(
    ("argv", "code", "says"),
    [
        ((), 2, "--family auto needs a checkpoint"),
        (("--variant", "small", "--tokenizer", "Qwen3"), 2, "--family auto chooses the variant too"),
        (("--tokenizer", "nowhere"), 4, "no such file or directory: nowhere"),
    ],
)
def test_auto_cannot_do_without_a_checkpoint(run: Run, argv: tuple[str, ...], code: int, says: str) -> None:
    outcome = run("render", "--family", "auto", *argv)
    assert outcome.code == code
    assert says in outcome.err


def test_a_config_that_is_no_json_is_said(run: Run, folder: Path) -> None:
    checkpoint(folder / "ckpt", "qwen3")
    (folder / "ckpt" / "config.json").write_text("[")
    outcome = run("render", "--family", "auto", "--tokenizer", "ckpt")
    assert outcome.code == 3
    assert "config.json is not a JSON object" in outcome.err


@pytest.mark.assets
def test_a_named_family_becomes_the_variant_of_the_checkpoint_and_says_so(run: Run, folder: Path) -> None:
    checkpoint(folder / "ckpt", "glm47", native_text("glm5.2"))
    named = run("render", "--family", "glm47", "--tokenizer", "ckpt", "--format", "text")
    assert named.out == run("render", "--family", "glm47", "--variant", "5.2", "--format", "text").out
    assert "note: ckpt has the template of glm47 (variant 5.2): rendering as that variant" in named.err

    chosen = run(
        *("render", "--family", "glm47", "--variant", "4.7", "--tokenizer", "ckpt", "--format", "text")
    )
    assert chosen.out == run("render", "--family", "glm47", "--format", "text").out != named.out
    assert "variant" not in chosen.err


@pytest.mark.assets
def test_a_named_family_that_the_checkpoint_does_not_belong_to_is_warned_about(
    run: Run, folder: Path
) -> None:
    checkpoint(folder / "ckpt", "qwen3", native_text("qwen3.6"))
    outcome = run("render", "--family", "qwen3", "--tokenizer", "ckpt", "--format", "text")
    assert outcome.out == run("render", "--family", "qwen3", "--format", "text").out
    assert "warning: ckpt looks like family qwen36, not qwen3: its chat template" in outcome.err
    document = run("render", "--family", "qwen3", "--tokenizer", "ckpt", "--json").document
    assert [warning["code"] for warning in document["warnings"]] == ["other_family"]


@pytest.mark.assets
def test_nothing_is_said_where_family_and_checkpoint_agree(run: Run, folder: Path) -> None:
    checkpoint(folder / "ckpt", "qwen35", native_text("qwen3.5"))
    (folder / "chat.json").write_text('[{"role": "user", "content": "Hi"}]')
    argv = ("render", "chat.json", "--family", "qwen35", "--tokenizer", "ckpt", "--format", "text")
    assert run(*argv).err == ""


@pytest.mark.parametrize(
    ("variant", "hint"), [("smal", "did you mean 'small'?"), ("zzz", "known: large, small")]
)
def test_an_unknown_variant_is_refused_with_the_known_ones(run: Run, variant: str, hint: str) -> None:
    outcome = run("render", "--family", "qwen35", "--variant", variant)
    assert outcome.code == 2
    assert f"unknown variant of qwen35 '{variant}'" in outcome.err
    assert hint in outcome.err


def test_the_small_variant_does_not_think_by_default(run: Run) -> None:
    argv = ("render", "--family", "qwen35", "--format", "text", "--generation-prompt")
    small = run(*argv, "--variant", "small")
    assert small.out.endswith(b"<think>\n\n</think>\n\n")
    assert run(*argv).out.endswith(b"<think>\n")
    assert run(*argv, "--variant", "small", "--kwarg", "enable_thinking=true").out == run(*argv).out


@pytest.mark.assets
def test_launch_sglang_takes_auto_and_a_variant(run: Run, folder: Path) -> None:
    checkpoint(folder / "ckpt", "glm47", native_text("glm5"))
    outcome = run("launch-sglang", "ckpt", "--family", "auto", "--dry-run")
    assert outcome.code == 0
    assert b"--tool-call-parser glm47" in outcome.out
    assert "ckpt is of family glm47 (variant 5)" in outcome.err
    named = run("launch-sglang", "ckpt", "--family", "glm47", "--variant", "5", "--dry-run", "--port", "1")
    assert (named.code, named.err) == (0, "")


def test_launch_sglang_does_not_ask_the_hub_about_a_named_family(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    outcome = run("launch-sglang", "zai-org/GLM-5", "--family", "glm47", "--dry-run")
    assert (outcome.code, outcome.err) == (0, "")
