"""The families by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from titocli.errors import UnknownName
from titocli.families.deepseek import DEEPSEEKV4, DEEPSEEKV32, DEEPSEEKV41
from titocli.families.default import DEFAULT
from titocli.families.family import Family
from titocli.families.glm import GLM47, GLM53
from titocli.families.inkling import INKLING
from titocli.families.kimi import KIMI25, KIMI26
from titocli.families.minimax import MINIMAX_M25, MINIMAX_M27
from titocli.families.nemotron3 import NEMOTRON3
from titocli.families.qwen3 import QWEN3
from titocli.families.qwen35 import QWEN35
from titocli.families.qwen36 import QWEN36
from titocli.families.qwen38 import QWEN4EXP, QWEN38SMALL
from titocli.families.qwennext import QWENNEXT

BUILT_IN: Mapping[str, Family] = MappingProxyType(
    {
        family.name: family
        for family in (
            DEFAULT,
            QWEN3,
            QWENNEXT,
            QWEN35,
            QWEN36,
            QWEN38SMALL,
            QWEN4EXP,
            GLM47,
            GLM53,
            NEMOTRON3,
            KIMI25,
            KIMI26,
            MINIMAX_M25,
            MINIMAX_M27,
            INKLING,
            DEEPSEEKV32,
            DEEPSEEKV4,
            DEEPSEEKV41,
        )
    }
)


def get_family(name: str, variant: str | None = None) -> Family:
    """The family of that name, as one of its variants where one is named.

    Raises ``UnknownName`` with a suggestion.
    """
    family = BUILT_IN.get(name)
    if family is None:
        raise UnknownName.among("family", name, BUILT_IN)
    if variant is None or variant == family.variant:
        return family
    if variant not in family.variants:
        raise UnknownName.among(f"variant of {name}", variant, {*family.variants, family.variant or name})
    return family.variants[variant]


def all_contracts() -> tuple[Family, ...]:
    """Every built-in family and every variant of it, each a contract of its own."""
    return tuple(each for family in BUILT_IN.values() for each in (family, *family.variants.values()))


__all__ = ["BUILT_IN", "all_contracts", "get_family"]
