"""A checkpoint's family is told by its template's hash and its config."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.assets import native_template
from tests.parity.natives import NATIVES
from titocli.families.detection import CheckpointFacts, Evidence, clues, contract_name, detect, variant_of
from titocli.families.registry import BUILT_IN, all_contracts, get_family
from titocli.jsonvalue import JsonValue


def _text(template: str) -> str:
    return native_template(template).read_bytes().decode()


def _facts(template: str | None = None, **config: JsonValue) -> CheckpointFacts:
    return CheckpointFacts(template=template, config=config)


@pytest.mark.assets
@pytest.mark.parametrize("named", NATIVES, ids=lambda named: "-".join(filter(None, named)))
def test_every_native_template_is_known_as_its_contracts(named: tuple[str, str | None]) -> None:
    template = _text(NATIVES[named].template)
    found = detect(_facts(template, model_type="something else"))
    assert found is not None
    assert found.evidence is Evidence.TEMPLATE_SHA256
    assert get_family(*named).name in {found.family.name, *found.same_template}
    assert named[1] == found.family.variant
    assert variant_of(BUILT_IN[named[0]], template) == get_family(*named)
    assert found.other_variants == ()


@pytest.mark.assets
def test_the_reason_names_hash_and_checkpoints() -> None:
    found = detect(_facts(_text("qwen3.5")))
    assert found is not None
    assert found.reason == (
        "its chat template (sha256 a4aee8afcf2e…) is that of Qwen/Qwen3.5-4B, Qwen/Qwen3.5-9B and 4 more"
    )
    assert found.name == "qwen35 (variant large)"


@pytest.mark.assets
def test_families_that_share_a_template_are_all_named() -> None:
    found = detect(_facts(_text("qwen3.8")))
    assert found is not None
    assert (found.name, found.same_template) == ("qwen38small", ("qwen4exp",))


@pytest.mark.assets
@pytest.mark.parametrize("template", ["qwen3", "qwen3.8", "glm5.1"])
def test_the_newline_at_the_end_of_a_template_does_not_matter(template: str) -> None:
    text = _text(template)
    for copy in (text.removesuffix("\n"), f"{text.removesuffix(chr(10))}\n"):
        assert detect(_facts(copy)) == detect(_facts(text))
    assert detect(_facts(text.replace("role", "rolle", 1))) is None


@pytest.mark.parametrize(
    ("config", "family", "evidence"),
    [
        ({"model_type": "deepseek_v32"}, "deepseekv32", Evidence.MODEL_TYPE),
        ({"model_type": "deepseek_v4"}, "deepseekv4", Evidence.MODEL_TYPE),
        # V4.1 also names V4's architecture.
        (
            {"model_type": "deepseek_v41", "architectures": ["DeepseekV4ForCausalLM"]},
            "deepseekv41",
            Evidence.MODEL_TYPE,
        ),
        ({"model_type": "inkling_mm_model"}, "inkling", Evidence.MODEL_TYPE),
        ({"architectures": ["DeepseekV32ForCausalLM"]}, "deepseekv32", Evidence.ARCHITECTURE),
        ({"architectures": ["InklingForConditionalGeneration"]}, "inkling", Evidence.ARCHITECTURE),
    ],
)
@pytest.mark.parametrize("template", [None, "a template of somebody"])
def test_config_decides_where_checkpoints_ship_no_known_template(
    config: dict[str, JsonValue], family: str, evidence: Evidence, template: str | None
) -> None:
    found = detect(_facts(template, **config))
    assert found is not None
    assert (found.family.name, found.evidence) == (family, evidence)
    assert found.reason.startswith(f"its config.json says {evidence.value} ")
    assert found.other_variants == tuple(BUILT_IN[family].variants)


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"model_type": "qwen3"},
        {"model_type": "llama", "architectures": ["InklingForConditionalGeneration"]},
        {"model_type": 7, "architectures": []},
        {"architectures": "InklingForConditionalGeneration"},
        {"architectures": ["DeepseekV4ForCausalLM"]},
        {"_name_or_path": "Qwen/Qwen3-8B"},
    ],
)
def test_nothing_else_decides(config: dict[str, JsonValue]) -> None:
    assert detect(_facts(None, **config)) is None


def test_a_model_type_of_several_families_is_a_clue_and_no_more() -> None:
    assert clues(_facts(model_type="qwen3_5_moe")) == ("qwen35", "qwen36", "qwen4exp")
    assert clues(_facts(model_type="kimi_k25")) == ("kimi25", "kimi26")
    assert clues(_facts(model_type="llama")) == clues(_facts(model_type=["qwen3"])) == clues(_facts()) == ()


def test_no_two_contracts_of_one_family_know_the_same_template() -> None:
    for family in BUILT_IN.values():
        contracts = (family, *family.variants.values())
        hashes = [{one.template_sha256 for one in each.checkpoints} - {None} for each in contracts]
        assert len(set().union(*hashes)) == sum(map(len, hashes)), family.name


def test_contracts_have_names_of_their_own() -> None:
    names = [contract_name(each) for each in all_contracts()]
    assert len(set(names)) == len(names)
    assert contract_name(get_family("glm47", "5.1")) == "glm47 (variant 5.1)"
    assert contract_name(get_family("qwen3")) == "qwen3"


def test_the_name_of_a_directory_decides_nothing(tmp_path: Path) -> None:
    from titocli.cli.family_choice import checkpoint_facts

    folder = tmp_path / "DeepSeek-V3.2-deepseek_v32"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    assert detect(checkpoint_facts(str(folder))) is None
