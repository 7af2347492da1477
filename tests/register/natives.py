"""Checkpoints' own templates beside the built-in contracts that they fall under."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.assets import native_template, tokenizer_file
from titocli.families.chat_template import compile_template
from titocli.families.family import Family
from titocli.families.registry import get_family
from titocli.families.template_source import TemplateSource, shipped_template, template_from_file
from titocli.jsonvalue import JsonValue
from titocli.register.subject import CheckpointFiles, Subject
from titocli.tokens.loading import load_tokenizer
from titocli.tokens.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A template with a real vocabulary, and the contract whose facts the inference has to find.

    ``template`` is a name of ``tests.assets``, None for the template that titocli ships: that of a family
    whose checkpoints' own is not published, or is not append-only.
    """

    family: str
    vocabulary: str
    template: str | None = None
    variant: str | None = None

    @property
    def contract(self) -> Family:
        """The built-in contract."""
        return get_family(self.family, self.variant)

    @property
    def source(self) -> TemplateSource:
        """The template."""
        if self.template is not None:
            return template_from_file(native_template(self.template))
        return shipped_template(str(self.contract.template))

    @property
    def name(self) -> str:
        """The template as people read it."""
        return self.template or f"titocli's {self.contract.template}"

    def subject(self) -> Subject:
        """The checkpoint, ready to be probed; it says nothing of itself but its template and vocabulary."""
        return Subject(
            template=compile_template(self.source),
            tokenizer=tokenizer(self.vocabulary),
            files=CheckpointFiles(name=self.name),
        )

    def written_to(self, folder: Path) -> Path:
        """A checkpoint's directory."""
        folder.mkdir()
        (folder / "chat_template.jinja").write_bytes(self.source.text.encode())
        (folder / "tokenizer.json").symlink_to(tokenizer_file(self.vocabulary))
        return folder


@cache
def tokenizer(vocabulary: str) -> Tokenizer:
    """A real vocabulary."""
    return load_tokenizer(str(tokenizer_file(vocabulary)))


#: Natives that some kwargs make append-only, or that are so as they are.
APPEND_ONLY = (
    Checkpoint(template="qwen3.6", vocabulary="qwen35", family="qwen36"),
    Checkpoint(template="qwen3.8", vocabulary="qwen35", family="qwen38small"),
    Checkpoint(template="glm4.7", vocabulary="glm47", family="glm47", variant="4.7"),
    Checkpoint(template="glm5", vocabulary="glm5", family="glm47", variant="5"),
    Checkpoint(template="glm5.2", vocabulary="glm5", family="glm47", variant="5.2"),
    Checkpoint(template="nemotron3_nano", vocabulary="nemotron3", family="nemotron3", variant="nano"),
    Checkpoint(template="nemotron3_super", vocabulary="nemotron3", family="nemotron3", variant="super"),
    Checkpoint(template="nemotron3_ultra", vocabulary="nemotron3", family="nemotron3", variant="ultra"),
    Checkpoint(template="kimi_k2.6", vocabulary="kimi", family="kimi26"),
    # No package has the checkpoint's own template; titocli's follows what is told of it.
    Checkpoint(vocabulary="inkling", family="inkling"),
)
#: Natives that rewrite history whatever their kwargs, with the line and the condition that does.
REWRITING = {
    Checkpoint(template="qwen3", vocabulary="qwen3", family="qwen3"): (
        43,
        "loop.index0 > ns.last_query_index",
    ),
    Checkpoint(template="qwen3_thinking_2507_next", vocabulary="qwen3", family="qwennext"): (
        43,
        "loop.index0 > ns.last_query_index",
    ),
    Checkpoint(template="qwen3.5", vocabulary="qwen35", family="qwen35", variant="large"): (
        100,
        "loop.index0 > ns.last_query_index",
    ),
    Checkpoint(template="qwen3.5_small", vocabulary="qwen35", family="qwen35", variant="small"): (
        100,
        "loop.index0 > ns.last_query_index",
    ),
    Checkpoint(template="glm5.1", vocabulary="glm5", family="glm47", variant="5.1"): (
        70,
        "loop.index0 > ns.last_user_index and not (enable_thinking is defined and not enable_thinking)",
    ),
    Checkpoint(template="kimi_k2.5", vocabulary="kimi", family="kimi25"): (61, "for message in hist_msgs"),
    Checkpoint(template="minimax_m2.5", vocabulary="minimax_standin", family="minimax_m25"): (
        97,
        "reasoning_content and loop.index0 > ns.last_user_index",
    ),
    Checkpoint(template="minimax_m2.7", vocabulary="minimax_standin", family="minimax_m27"): (
        97,
        "reasoning_content and loop.index0 > ns.last_user_index",
    ),
}
#: The templates that titocli ships in their place.
CORRECTED = tuple(
    Checkpoint(vocabulary=one.vocabulary, family=one.family, variant=one.variant)
    for one in REWRITING
    # One template for two contracts: what tells them apart is a kwarg.
    if not one.family.startswith("minimax") and one.variant != "small"
)


def differences(found: Family, contract: Family, variables: frozenset[str]) -> list[str]:
    """What differs between an inferred contract and a built-in one, among all that makes it append-only.

    The built-in one may name kwargs that only the templates of its variants read; the values of a kwarg come
    in the same set, the template's own default first.
    """
    ours, theirs = _facts(found, variables), _facts(contract, variables)
    unlike = [f"{name}: {ours[name]} for {theirs[name]}" for name in ours if ours[name] != theirs[name]]
    unknown = set(found.stop_tokens) - set(contract.stop_tokens)
    return [*unlike, *(f"stop token {token}" for token in sorted(unknown))]


def _facts(family: Family, variables: frozenset[str]) -> dict[str, object]:
    return {
        "boundary": family.boundary,
        "append roles": set(family.append_roles),
        "fixed kwargs": {name: value for name, value in family.fixed_kwargs.items() if name in variables},
        "pinned kwargs": _choices(family.pinned_kwargs),
        "turn kwargs": _choices(family.turn_kwargs),
        "refused kwargs": set(family.refused_kwargs) & variables,
        "parsers": (family.parsers.reasoning, family.parsers.tool_call),
        "tool runs": family.tool_runs,
    }


def _choices(kwargs: Mapping[str, tuple[JsonValue, ...]]) -> dict[str, tuple[str, frozenset[str]]]:
    return {
        name: (json.dumps(values[:1]), frozenset(map(json.dumps, values))) for name, values in kwargs.items()
    }
