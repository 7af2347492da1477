"""Each contract's native: the chat template of its checkpoints, what titocli changed in it, and the vocabulary.

Tests and the parity report take both from here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.assets import native_template
from tests.parity.native_edits import (
    KEEPS_THINKING,
    STEADY_EMPTY_BLOCK,
    WITHOUT_USER_GUARD,
    Edit,
    edited,
)
from titocli.families.family import Family


@dataclass(frozen=True, slots=True, kw_only=True)
class Native:
    """A template of ``tests.assets``, with the declared deviations as ``edits``.

    ``vocabulary`` names a tokenizer of ``tests.assets``; ``other_vocabularies`` are those of the checkpoints
    that have another one.
    """

    template: str
    vocabulary: str
    other_vocabularies: Mapping[str, str] = field(default_factory=dict)
    edits: Sequence[Edit] = ()

    def written_to(self, folder: Path) -> Path:
        """The template with its edits, as a file of ``folder``."""
        path = folder / f"{self.template}.edited.jinja"
        text = native_template(self.template).read_bytes().decode()
        path.write_bytes(edited(text, self.edits).encode())
        return path


def _qwen(family: str, template: str, vocabulary: str) -> Native:
    edits = (*WITHOUT_USER_GUARD.get(family, ()), *KEEPS_THINKING.get(family, ()))
    return Native(template=template, vocabulary=vocabulary, edits=edits)


QWEN_NATIVES: Mapping[tuple[str, str | None], Native] = {
    ("qwen3", None): _qwen("qwen3", "qwen3", "qwen3"),
    ("qwennext", None): _qwen("qwennext", "qwen3_thinking_2507_next", "qwen3"),
    ("qwen35", "large"): _qwen("qwen35", "qwen3.5", "qwen35"),
    ("qwen35", "small"): _qwen("qwen35", "qwen3.5_small", "qwen35"),
    ("qwen36", None): _qwen("qwen36", "qwen3.6", "qwen35"),
    ("qwen38small", None): _qwen("qwen38small", "qwen3.8", "qwen35"),
    ("qwen4exp", None): _qwen("qwen4exp", "qwen3.8", "qwen35"),
}
#: Contracts whose checkpoints ship a chat template that is at hand.
NATIVES: Mapping[tuple[str, str | None], Native] = {
    **QWEN_NATIVES,
    ("glm47", "4.7"): Native(
        template="glm4.7", vocabulary="glm47", other_vocabularies={"zai-org/GLM-4.7-Flash": "glm5"}
    ),
    ("glm47", "5"): Native(template="glm5", vocabulary="glm5"),
    ("glm47", "5.1"): Native(template="glm5.1", vocabulary="glm5", edits=STEADY_EMPTY_BLOCK),
    ("glm47", "5.2"): Native(template="glm5.2", vocabulary="glm5"),
    ("nemotron3", "nano"): Native(template="nemotron3_nano", vocabulary="nemotron3"),
    ("nemotron3", "super"): Native(template="nemotron3_super", vocabulary="nemotron3"),
    ("nemotron3", "ultra"): Native(template="nemotron3_ultra", vocabulary="nemotron3"),
    ("kimi25", None): Native(template="kimi_k2.5", vocabulary="kimi", edits=KEEPS_THINKING["kimi25"]),
    ("kimi26", None): Native(template="kimi_k2.6", vocabulary="kimi"),
    ("minimax_m25", None): Native(
        template="minimax_m2.5", vocabulary="minimax_standin", edits=KEEPS_THINKING["minimax"]
    ),
    ("minimax_m27", None): Native(
        template="minimax_m2.7", vocabulary="minimax_standin", edits=KEEPS_THINKING["minimax"]
    ),
}
#: Contracts that other code than a template is compared with, and their vocabularies.
ENCODED: Mapping[tuple[str, str | None], str] = {
    ("deepseekv32", None): "deepseek_v32",
    ("deepseekv4", "preview"): "deepseek_v4",
    ("deepseekv4", "0731"): "deepseek_v4",
    ("deepseekv41", None): "deepseek_v41",
    ("inkling", None): "inkling",
    ("glm53", "5.3"): "glm5",
    ("glm53", "5.3-flash"): "glm5",
}


def native_of(family: Family) -> Native:
    """The native of a contract that has one."""
    return NATIVES[family.name, family.variant]
