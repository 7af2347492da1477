"""``titocli families``."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run, assert_snapshot
from titocli.families.family import Family
from titocli.families.registry import BUILT_IN

TEMPLATES = Path(__file__).parents[2] / "templates"


def test_families_alone_is_the_list(run: Run) -> None:
    outcome = run("families")

    assert outcome == run("families", "list")
    assert_snapshot("families.txt", outcome.out)


def test_the_json_list_has_every_family_complete(run: Run) -> None:
    document = run("families", "list", "--json").document

    assert document["schema"] == "titocli/families/1"
    assert [family["name"] for family in document["data"]["families"]] == list(BUILT_IN)
    for family in document["data"]["families"]:
        shown = run("families", "show", family["name"], "--json").document
        assert shown["data"]["family"] == family


@pytest.mark.parametrize("argv", [("--json",), ("--json", "list"), ("list", "--json")])
def test_json_may_stand_before_or_after_the_subcommand(run: Run, argv: tuple[str, ...]) -> None:
    assert run("families", *argv).document["status"] == "ok"


def test_json_before_show_is_honoured(run: Run) -> None:
    assert run("families", "--json", "show", "qwen3").document["data"]["family"]["name"] == "qwen3"


def test_a_family_names_its_template_by_file_and_hash(run: Run) -> None:
    family = run("families", "show", "qwen3", "--json").document["data"]["family"]

    text = (TEMPLATES / "qwen3.jinja").read_bytes()
    assert family["template"] == {"file": "qwen3.jinja", "sha256": hashlib.sha256(text).hexdigest()}
    assert family["checkpoints"][0]["name"] == "Qwen/Qwen3-0.6B"
    assert family["checkpoints"][0]["template_sha256"].startswith("a55ee1b1")


def test_a_family_is_complete_in_json(run: Run) -> None:
    family = run("families", "show", "qwen4exp", "--json").document["data"]["family"]

    assert family["fixed_kwargs"] == {"preserve_thinking": True}
    assert family["pinned_kwargs"]["reasoning_effort"] == ["xhigh", "medium", "low"]
    assert family["turn_kwargs"] == {}
    assert family["append_roles"] == ["tool", "user", "assistant"]
    assert family["boundary"] == {"rule": "glue", "after": "<|im_end|>", "text": "\n"}
    assert family["parsers"]["sglang_tool_call"] == "qwen3_coder"
    assert family["stop_tokens"] == ["<|im_end|>", "<|endoftext|>"]
    assert family["deviations"][0]["why"]
    assert family["origin"] == "built-in"


def test_every_field_of_a_contract_is_in_its_json(run: Run) -> None:
    family = run("families", "show", "glm47", "--json").document["data"]["family"]

    fields = {field.name for field in dataclasses.fields(Family)}
    assert fields - family.keys() == set()
    for variant in family["variants"].values():
        assert fields - variant.keys() == {"variants"}


def test_the_page_of_a_family_says_all_that_its_json_says(run: Run) -> None:
    family = run("families", "show", "qwen3", "--json").document["data"]["family"]
    page = " ".join(run("families", "show", "qwen3").out.decode().split())

    facts = [
        family["summary"],
        family["template"]["sha256"],
        *(checkpoint["name"] for checkpoint in family["checkpoints"]),
        "clear_thinking=false",
        "enable_thinking: true, false",
        r"glue: \n is inserted after <|im_end|>",
        *(json.dumps(deviation["what"]).strip('"') for deviation in family["deviations"]),
        "built-in",
    ]
    assert [fact for fact in facts if fact not in page] == []


def test_the_family_without_a_template_says_so(run: Run) -> None:
    assert "the checkpoint's own" in run("families", "show", "default").out.decode()
    assert run("families", "show", "default", "--json").document["data"]["family"]["template"] is None
