"""The families by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from titocli.errors import UnknownName
from titocli.families.default import DEFAULT
from titocli.families.family import Family
from titocli.families.qwen3 import QWEN3
from titocli.families.qwen35 import QWEN35
from titocli.families.qwen36 import QWEN36
from titocli.families.qwen38 import QWEN4EXP, QWEN38SMALL
from titocli.families.qwennext import QWENNEXT

BUILT_IN: Mapping[str, Family] = MappingProxyType(
    {family.name: family for family in (DEFAULT, QWEN3, QWENNEXT, QWEN35, QWEN36, QWEN38SMALL, QWEN4EXP)}
)


def get_family(name: str) -> Family:
    """The family of that name; raises ``UnknownName`` with a suggestion."""
    family = BUILT_IN.get(name)
    if family is None:
        raise UnknownName.among("family", name, BUILT_IN)
    return family


__all__ = ["BUILT_IN", "get_family"]
