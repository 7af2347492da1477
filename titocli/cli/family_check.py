"""``titocli families check``: the family of a checkpoint, or what an unknown template resembles."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from titocli.cli.family_choice import checkpoint_facts
from titocli.cli.known_families import known_families
from titocli.families.chat_template import compile_template
from titocli.families.detection import CheckpointFacts, Detection, clues, detect
from titocli.families.family import Family
from titocli.families.template_source import TemplateSource
from titocli.jsonvalue import JsonObject
from titocli.report.checkpoint_page import checkpoint_lines
from titocli.report.result import Envelope, Result
from titocli.verify.nearest import Difference, Resemblance, nearest_contracts

_SEED = 1
_UNKNOWN_EXIT_CODE = 1


def check_result(checkpoint: str, examples: int, *, json: bool) -> Result:
    """What is known of a checkpoint; exit code 1 where that is no family.

    An unknown template is compared on ``examples`` generated conversations.
    """
    facts = checkpoint_facts(checkpoint)
    contracts = known_families().contracts()
    found = detect(facts, contracts)
    nearest = _nearest(checkpoint, facts.template, contracts, examples) if found is None else ()
    report = _report(checkpoint, facts, found, nearest)
    return Result(
        body=Envelope(report) if json else checkpoint_lines(report).encode(),
        exit_code=_UNKNOWN_EXIT_CODE if found is None else 0,
    )


def _nearest(
    checkpoint: str, template: str | None, contracts: Sequence[Family], examples: int
) -> tuple[Resemblance, ...]:
    if template is None:
        return ()
    compiled = compile_template(TemplateSource(f"{checkpoint} (chat template)", template))
    return nearest_contracts(compiled, contracts, conversations=examples, seed=_SEED)


def _report(
    checkpoint: str, facts: CheckpointFacts, found: Detection | None, nearest: Sequence[Resemblance]
) -> JsonObject:
    template = facts.template
    return {
        "checkpoint": checkpoint,
        "template_sha256": None if template is None else hashlib.sha256(template.encode()).hexdigest(),
        "known": found is not None,
        "family": None if found is None else found.family.name,
        "variant": None if found is None else found.family.variant,
        "evidence": None if found is None else found.evidence.value,
        "reason": None if found is None else found.reason,
        "same_template": [] if found is None else list(found.same_template),
        "other_variants": [] if found is None else list(found.other_variants),
        "suggested": list(clues(facts)),
        "nearest": [_resemblance(one) for one in nearest],
    }


def _resemblance(one: Resemblance) -> JsonObject:
    return {
        "family": one.family.name,
        "variant": one.family.variant,
        "conversations": one.conversations,
        "differing": one.differing,
        "first_difference": None if one.first is None else _difference(one.first),
    }


def _difference(first: Difference) -> JsonObject:
    return {"conversation": first.conversation, "at": first.at, "ours": first.ours, "theirs": first.theirs}


__all__ = ["check_result"]
