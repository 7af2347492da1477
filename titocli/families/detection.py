"""Which family a checkpoint belongs to, by its chat template and its config; never by a name.

A template is known by its SHA-256.  One that is not known, newer or edited, may render differently, so the
config alone decides only for families whose checkpoints ship no template, or one whose bytes are not
published.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from titocli.families.family import Checkpoint, Family
from titocli.families.registry import BUILT_IN, all_contracts
from titocli.jsonvalue import JsonValue

#: ``model_type`` of config.json.
_DECISIVE_MODEL_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "deepseek_v32": "deepseekv32",
        "deepseek_v4": "deepseekv4",
        "deepseek_v41": "deepseekv41",
        "inkling_mm_model": "inkling",
    }
)
#: The same by ``architectures``, for a config without ``model_type``: V4.1 also names V4's.
_DECISIVE_ARCHITECTURES: Mapping[str, str] = MappingProxyType(
    {
        "DeepseekV32ForCausalLM": "deepseekv32",
        "DeepseekV41ForCausalLM": "deepseekv41",
        "InklingForConditionalGeneration": "inkling",
    }
)
#: Families that have checkpoints of a ``model_type``: a clue, for other models have it too.
_MODEL_TYPE_CLUES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "qwen3": ("qwen3", "qwennext"),
        "qwen3_moe": ("qwen3", "qwennext"),
        "qwen3_next": ("qwennext",),
        "qwen3_5": ("qwen35", "qwen36", "qwen38small"),
        "qwen3_5_moe": ("qwen35", "qwen36", "qwen4exp"),
        "glm4_moe": ("glm47",),
        "glm4_moe_lite": ("glm47",),
        "glm_moe_dsa": ("glm47", "glm53"),
        "glm5_next": ("glm53",),
        "nemotron_h": ("nemotron3",),
        "kimi_k25": ("kimi25", "kimi26"),
        "minimax_m2": ("minimax_m25", "minimax_m27"),
    }
)
#: Checkpoints that a sentence names.
_NAMED_CHECKPOINTS = 2


class Evidence(StrEnum):
    """What a checkpoint's family was known by."""

    TEMPLATE_SHA256 = "template_sha256"
    MODEL_TYPE = "model_type"
    ARCHITECTURE = "architecture"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointFacts:
    """What a checkpoint says of itself: the text of its chat template, and its config ({} without one)."""

    template: str | None
    config: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """The contract (a family, or a variant of it) that a checkpoint falls under.

    ``reason`` is the evidence as a sentence without its full stop.  ``same_template`` are other families
    whose checkpoints ship the same template, ``other_variants`` those that the evidence cannot tell from this
    one.
    """

    family: Family
    evidence: Evidence
    reason: str
    same_template: tuple[str, ...] = ()
    other_variants: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The family's name, with the variant's."""
        return contract_name(self.family)


def contract_name(family: Family) -> str:
    """A contract as people read it: ``glm47 (variant 5.1)``."""
    return family.name if family.variant is None else f"{family.name} (variant {family.variant})"


def detect(facts: CheckpointFacts, contracts: Sequence[Family] | None = None) -> Detection | None:
    """The contract of a checkpoint, or None where nothing decides.

    ``contracts`` are those that a template may belong to, the first counts; None: the built-in ones.
    """
    known = all_contracts() if contracts is None else contracts
    by_template = None if facts.template is None else _by_template(facts.template, known)
    return by_template or _by_config(facts.config)


def variant_of(family: Family, template: str) -> Family | None:
    """The contract of ``family`` whose checkpoints ship this template, or None."""
    contracts = (family, *family.variants.values())
    return next((each for each in contracts if _shipping(each, template)), None)


def clues(facts: CheckpointFacts) -> tuple[str, ...]:
    """The families that the config hints at without deciding."""
    model_type = facts.config.get("model_type")
    names = _MODEL_TYPE_CLUES.get(model_type, ()) if isinstance(model_type, str) else ()
    return tuple(name for name in names if name in BUILT_IN)


def _by_template(template: str, contracts: Sequence[Family]) -> Detection | None:
    matching = [each for each in contracts if _shipping(each, template)]
    if not matching:
        return None
    known = _shipping(matching[0], template)
    names = _listed([one.name for one in known])
    return Detection(
        family=matching[0],
        evidence=Evidence.TEMPLATE_SHA256,
        reason=f"its chat template (sha256 {str(known[0].template_sha256)[:12]}…) is that of {names}",
        same_template=tuple(each.name for each in matching[1:]),
    )


def _shipping(family: Family, template: str) -> list[Checkpoint]:
    """The checkpoints of a contract that ship this template, give or take its last newline."""
    # Jinja drops one newline at the end, and the copy of a template in a JSON file may lack it.
    texts = (template, template.removesuffix("\n"), f"{template}\n")
    hashes = {hashlib.sha256(text.encode()).hexdigest() for text in texts}
    return [one for one in family.checkpoints if one.template_sha256 in hashes]


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED_CHECKPOINTS])
    rest = len(names) - _NAMED_CHECKPOINTS
    return f"{shown} and {rest} more" if rest > 0 else shown


def _by_config(config: Mapping[str, JsonValue]) -> Detection | None:
    model_type = config.get("model_type")
    if isinstance(model_type, str):
        return _decided(_DECISIVE_MODEL_TYPES, model_type, Evidence.MODEL_TYPE)
    architectures = config.get("architectures")
    first = architectures[0] if isinstance(architectures, list) and architectures else None
    return _decided(_DECISIVE_ARCHITECTURES, first, Evidence.ARCHITECTURE) if isinstance(first, str) else None


def _decided(families: Mapping[str, str], value: str, evidence: Evidence) -> Detection | None:
    family = BUILT_IN.get(families.get(value, ""))
    if family is None:
        return None
    reason = f"its config.json says {evidence.value} {value}"
    return Detection(family=family, evidence=evidence, reason=reason, other_variants=tuple(family.variants))


__all__ = ["CheckpointFacts", "Detection", "Evidence", "clues", "contract_name", "detect", "variant_of"]
