"""A family as JSON data: everything that its contract says."""

from __future__ import annotations

from titocli.families.encoders import encoder_template
from titocli.families.family import Boundary, Family, Glue, Trim
from titocli.families.template_source import shipped_template
from titocli.families.thinking import THINKING_NAMES, own_thinking_name
from titocli.jsonvalue import JsonObject


def family_data(family: Family) -> JsonObject:
    """All fields of a family and of its variants, with the hash of its template file or encoder."""
    variants = {name: _contract_data(variant) for name, variant in family.variants.items()}
    return {**_contract_data(family), "variants": variants}


def _contract_data(family: Family) -> JsonObject:
    return {
        "name": family.name,
        "variant": family.variant,
        "summary": family.summary,
        "origin": family.origin,
        "checkpoints": [
            {"name": checkpoint.name, "template_sha256": checkpoint.template_sha256}
            for checkpoint in family.checkpoints
        ],
        "template": _template(family),
        "encoder": family.encoder,
        "fixed_kwargs": dict(family.fixed_kwargs),
        "default_kwargs": dict(family.default_kwargs),
        "pinned_kwargs": {name: list(values) for name, values in family.pinned_kwargs.items()},
        "turn_kwargs": {name: list(values) for name, values in family.turn_kwargs.items()},
        "refused_kwargs": dict(family.refused_kwargs),
        "kwarg_aliases": _kwarg_aliases(family),
        "effort_numbers": [list(numbers) for numbers in family.effort_numbers],
        "append_roles": [role.value for role in family.append_roles],
        "tool_runs": family.tool_runs.value,
        "content_parts": list(family.content_parts),
        "boundary": _boundary(family.boundary),
        "suffix_base": family.suffix_base.value,
        "parsers": {
            "reasoning": family.parsers.reasoning,
            "tool_call": family.parsers.tool_call,
            "sglang_reasoning": family.parsers.sglang_reasoning,
            "sglang_tool_call": family.parsers.sglang_tool_call,
        },
        "stop_tokens": list(family.stop_tokens),
        "required_tokens": list(family.required_tokens),
        "assistant_start": family.assistant_start,
        "assistant_resumes": family.assistant_resumes,
        "comparator_trailing": list(family.comparator_trailing),
        "comparator_specials": list(family.comparator_specials),
        "deviations": [{"what": deviation.what, "why": deviation.why} for deviation in family.deviations],
    }


def _kwarg_aliases(family: Family) -> JsonObject:
    """The other names of thinking, each with its own words for values."""
    own = own_thinking_name(family)
    if own is None:
        return {}
    return {
        name: {"kwarg": own, "values": dict(words)} for name, words in THINKING_NAMES.items() if name != own
    }


def _template(family: Family) -> JsonObject | None:
    if family.encoder is not None:
        source = encoder_template(family.encoder).source
        return {"file": source.name, "sha256": source.sha256}
    if family.template is None:
        return None
    return {"file": family.template, "sha256": shipped_template(family.template).sha256}


def _boundary(rule: Boundary) -> JsonObject:
    if isinstance(rule, Glue):
        return {"rule": "glue", "after": rule.after, "text": rule.text}
    if isinstance(rule, Trim):
        return {"rule": "trim", "tokens": list(rule.tokens)}
    return {"rule": "concatenate"}


__all__ = ["family_data"]
