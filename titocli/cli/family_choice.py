"""``--family NAME|auto`` and ``--variant``: which contract is meant, and why, where titocli decided it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from titocli.cli.known_families import known_families
from titocli.errors import ConflictingOption, InvalidJson, InvalidOption, TitoError, UnknownName
from titocli.families.detection import CheckpointFacts, Detection, clues, contract_name, detect, variant_of
from titocli.families.family import Family
from titocli.families.template_source import TemplateSource, read_text, template_from_checkpoint
from titocli.jsonvalue import JsonValue
from titocli.report.delivery import deliver
from titocli.report.result import Notice, Result
from titocli.report.settings import Channel, OutputSettings
from titocli.tokens.loading import TEMPLATE_FILES, checkpoint_file

AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyChoice:
    """The contract to work by.

    ``notes`` say what titocli decided on its own, ``warnings`` what looks wrong.
    """

    family: Family
    notes: tuple[str, ...] = ()
    warnings: tuple[Notice, ...] = ()


def choose_family(name: str, variant: str | None, checkpoint: str | None) -> FamilyChoice:
    """The contract that ``--family``, ``--variant`` and the checkpoint (a path or a hub id) mean together.

    Raises ``UnknownName`` for a name that does not exist and for a checkpoint of no known family.
    """
    if name == AUTO:
        return _detected(variant, checkpoint)
    family = known_families().get(name, variant)
    if checkpoint is None or variant is not None or not (family.variants or Path(checkpoint).exists()):
        # A hub id of a family without variants is not asked: its answer would change nothing.
        return FamilyChoice(family=family)
    return _as_its_variant(family, checkpoint)


def say_choice(choice: FamilyChoice, settings: OutputSettings) -> None:
    """Tell a person at once, for commands whose own result comes late."""
    if settings.channel is Channel.PERSON:
        deliver(Result(notes=choice.notes, warnings=choice.warnings), settings)


def _detected(variant: str | None, checkpoint: str | None) -> FamilyChoice:
    if variant is not None:
        raise ConflictingOption(
            "--family auto chooses the variant too", hint="name the family, or leave --variant out"
        )
    if checkpoint is None:
        raise InvalidOption(
            "--family auto needs a checkpoint",
            hint="give its directory or Hugging Face id, or name the family",
        )
    facts = checkpoint_facts(checkpoint)
    found = detect(facts, known_families().contracts())
    if found is None:
        raise unknown_checkpoint(checkpoint, facts)
    return FamilyChoice(family=found.family, notes=(detection_note(found, checkpoint),))


def detection_note(found: Detection, checkpoint: str) -> str:
    """The detection as one line for a person."""
    also = f"; {', '.join(found.same_template)} shares it" if found.same_template else ""
    if found.other_variants:
        also += f"; for variant {' or '.join(found.other_variants)} name family and variant"
    return f"note: {checkpoint} is of family {found.name}: {found.reason}{also}"


def unknown_checkpoint(checkpoint: str, facts: CheckpointFacts) -> UnknownName:
    """The error for a checkpoint that no evidence places."""
    template = "no chat template" if facts.template is None else "a chat template that titocli does not know"
    named = clues(facts)
    likely = f"its config.json suggests {' or '.join(named)}; " if named else ""
    return UnknownName(
        f"the family of {checkpoint} cannot be told: it has {template}",
        hint=f"{likely}see titocli families check, then name the family with --family",
        details={"kind": "checkpoint", "name": checkpoint, "suggested": list(named)},
    )


def _as_its_variant(family: Family, checkpoint: str) -> FamilyChoice:
    """The variant of a named family that the checkpoint's template belongs to, said where it is another."""
    template = _template_if_any(checkpoint)
    if template is None:
        return FamilyChoice(family=family)
    own = variant_of(family, template.text)
    if own is not None:
        changed = own.variant != family.variant
        note = f"note: {checkpoint} has the template of {contract_name(own)}: rendering as that variant"
        return FamilyChoice(family=own, notes=(note,) if changed else ())
    other = detect(CheckpointFacts(template=template.text, config={}))
    if other is None:
        return FamilyChoice(family=family)
    warning = Notice(
        code="other_family",
        message=f"{checkpoint} looks like family {other.name}, not {family.name}: {other.reason}",
        hint=f"--family {other.family.name}, or --family auto",
    )
    return FamilyChoice(family=family, warnings=(warning,))


def _template_if_any(checkpoint: str) -> TemplateSource | None:
    try:
        return checkpoint_template_if_any(checkpoint)
    except TitoError:
        # Whatever is wrong with the checkpoint is said where it is needed: when its tokenizer is loaded.
        return None


def checkpoint_facts(checkpoint: str) -> CheckpointFacts:
    """What a checkpoint (a path or a hub id) says of itself.

    Raises what stands in the way: no such checkpoint, no way to it, files that are not JSON.
    """
    template = checkpoint_template_if_any(checkpoint)
    config = checkpoint_file(checkpoint, "config.json")
    return CheckpointFacts(
        template=None if template is None else template.text,
        config={} if config is None else _read_config(config),
    )


def checkpoint_template_if_any(checkpoint: str) -> TemplateSource | None:
    """The checkpoint's own chat template, or None without one."""
    for name in TEMPLATE_FILES:
        path = checkpoint_file(checkpoint, name)
        if path is not None and _has_template(path):
            return template_from_checkpoint(path.parent)
    return None


def _has_template(path: Path) -> bool:
    return path.suffix == ".jinja" or bool(_read_config(path).get("chat_template"))


def _read_config(path: Path) -> Mapping[str, JsonValue]:
    try:
        config = json.loads(read_text(path))
    except (ValueError, RecursionError):
        config = None
    if not isinstance(config, dict):
        raise InvalidJson(f"{path} is not a JSON object", hint="was the file downloaded completely?")
    return config


__all__ = [
    "AUTO",
    "FamilyChoice",
    "checkpoint_facts",
    "checkpoint_template_if_any",
    "choose_family",
    "detection_note",
    "say_choice",
    "unknown_checkpoint",
]
