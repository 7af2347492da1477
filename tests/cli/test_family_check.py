"""``titocli families check``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.checkpoints import checkpoint, native_text
from tests.cli.conftest import Run


@pytest.mark.assets
def test_a_known_checkpoint_is_named_with_the_evidence(run: Run, folder: Path) -> None:
    checkpoint(folder / "ckpt", "qwen38small", native_text("qwen3.8"))
    outcome = run("families", "check", "ckpt")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.decode().splitlines() == [
        "ckpt: family qwen38small",
        "  why: its chat template (sha256 c3cf9e34abf4…) is that of Qwen/Qwen3.8-27B, Qwen/Qwen3.8-27B-FP8",
        "  the same template: qwen4exp",
    ]
    data = run("families", "check", "ckpt", "--json").document["data"]
    assert (data["known"], data["family"], data["evidence"]) == (True, "qwen38small", "template_sha256")
    assert data["same_template"] == ["qwen4exp"]
    assert data["nearest"] == []


def test_a_checkpoint_known_by_its_config_says_what_it_cannot_tell(run: Run, folder: Path) -> None:
    checkpoint(folder / "ckpt", "deepseekv4", config={"model_type": "deepseek_v4"})
    outcome = run("families", "check", "ckpt")
    assert outcome.code == 0
    assert "it may be another variant: 0731" in outcome.out.decode()
    assert run("families", "check", "ckpt", "--json").document["data"]["other_variants"] == ["0731"]


@pytest.mark.assets
def test_a_newer_template_is_compared_with_what_is_known(run: Run, folder: Path) -> None:
    newer = native_text("kimi_k2.6").replace("## Return of ", "## Answer of ")
    checkpoint(folder / "ckpt", "kimi26", newer, {"model_type": "kimi_k25"})
    outcome = run("families", "check", "ckpt", "--examples", "40")
    lines = outcome.out.decode().splitlines()
    assert outcome.code == 1
    assert lines[0].startswith("ckpt: an unknown chat template (sha256 ")
    assert lines[1] == "  its config.json suggests: kimi25, kimi26"
    near = run("families", "check", "ckpt", "--examples", "40", "--json").document
    assert (near["status"], near["exit_code"]) == ("failed", 1)
    assert {one["family"] for one in near["data"]["nearest"]} == {"kimi25", "kimi26"}
    first = near["data"]["nearest"][0]
    assert 0 < first["differing"] < first["conversations"] == 40
    assert "## Return of " in first["first_difference"]["ours"]
    assert "## Answer of " in first["first_difference"]["theirs"]
    assert f"{first['differing']} of 40 generated conversations render differently" in lines[2]


@pytest.mark.assets
def test_a_template_with_another_text_that_renders_the_same_has_no_difference(run: Run, folder: Path) -> None:
    checkpoint(folder / "ckpt", "qwen3", "{#- ours -#}" + native_text("qwen3"))
    data = run("families", "check", "ckpt", "--examples", "30", "--json").document["data"]
    assert data["known"] is False
    assert [(one["family"], one["differing"]) for one in data["nearest"]] == [("qwen3", 0)]
    assert data["nearest"][0]["first_difference"] is None


def test_a_template_like_no_family_says_so(run: Run, folder: Path) -> None:
    checkpoint(folder / "ckpt", "qwen3", "{{ messages | length }}")
    outcome = run("families", "check", "ckpt", "--examples", "5")
    assert outcome.code == 1
    assert "it renders like no known family" in outcome.out.decode()


def test_a_checkpoint_without_a_template_is_unknown(run: Run, folder: Path) -> None:
    checkpoint(folder / "ckpt", "qwen3")
    outcome = run("families", "check", "ckpt")
    assert (outcome.code, outcome.out) == (1, b"ckpt: no chat template\n")


@pytest.mark.parametrize(
    ("name", "template", "code"), [("nowhere", None, 4), ("ckpt", "{% if %}", 3)], ids=["missing", "syntax"]
)
def test_a_checkpoint_that_cannot_be_read_is_an_error(
    run: Run, folder: Path, name: str, template: str | None, code: int
) -> None:
    checkpoint(folder / "ckpt", "qwen3", template)
    outcome = run("families", "check", name)
    assert (outcome.code, outcome.out) == (code, b"")
    assert "error:" in outcome.err


@pytest.mark.assets
def test_show_lists_variants_and_one_of_them(run: Run) -> None:
    family = run("families", "show", "qwen35", "--json").document["data"]["family"]
    small = run("families", "show", "qwen35", "--variant", "small", "--json").document["data"]["family"]
    assert family["variant"] == "large"
    assert family["variants"] == {"small": {key: small[key] for key in small if key != "variants"}}
    assert small["default_kwargs"] == {"enable_thinking": False}
    page = " ".join(run("families", "show", "qwen35").out.decode().split())
    assert "variant small Qwen3.5 0.8B and 2B" in page
    assert "default kwargs: enable_thinking=false" in page


def test_show_says_what_is_refused_and_encoded(run: Run) -> None:
    nemotron = " ".join(run("families", "show", "nemotron3").out.decode().split())
    assert "refused kwargs low_effort: the template of Nemotron 3 Super" in nemotron
    glm = run("families", "show", "glm53").out.decode()
    assert "appended once a run answers every call" in " ".join(glm.split())
    deepseek = run("families", "show", "deepseekv41", "--json").document["data"]["family"]
    assert deepseek["encoder"] == "deepseek_v41"
    assert deepseek["suffix_base"] == "real_history"
    assert "encoder deepseek_v41" in run("families", "show", "deepseekv41").out.decode()
