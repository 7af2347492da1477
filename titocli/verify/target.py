"""From a target's name to the contract that it is held to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType

from titocli.families.chat_template import ConversationTemplate, compile_template
from titocli.families.default import DEFAULT
from titocli.families.detection import CheckpointFacts, contract_name, detect
from titocli.families.family import Family, Role
from titocli.families.kwargs import resolve_kwargs, with_reasoning_effort
from titocli.families.renderer import Renderer, family_renderer
from titocli.families.template_source import TemplateSource
from titocli.families.thinking import THINKING_NAMES
from titocli.families.tiny import tiny_tokenizer
from titocli.jsonvalue import JsonValue
from titocli.tokens.loading import load_tokenizer
from titocli.tokens.tokenizer import Tokenizer
from titocli.verify.contract import Contract, Ids, Promise
from titocli.verify.events import Target
from titocli.verify.memo import MemoTemplate

#: Another day, another hour, another month's name: far from any that a test runs on.
_LATER = datetime(2042, 11, 7, 16, 35, 59)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSpec:
    """What to check.

    ``name`` is how the target was given.  With ``source`` a template is checked: under ``family`` where that
    is given, else under the contract that its text is known to belong to, without that family's kwargs.
    Without ``source`` it is the family's own.  ``kwargs`` and ``append_roles`` (None: the
    family's) change the contract.  ``tokenizer`` is where one is, ``other`` the template to compare with.
    """

    name: str
    family: Family | None = None
    source: TemplateSource | None = None
    kwargs: Mapping[str, JsonValue] = field(default_factory=dict)
    append_roles: tuple[Role, ...] | None = None
    tokenizer: str | None = None
    other: TemplateSource | None = None


def contract_of(spec: TargetSpec) -> Contract:
    """The contract of a target.

    Raises ``TemplateSyntax``, ``ConflictingKwarg``, ``ConflictingOption`` without a template,
    ``UnfitTokenizer`` and what loading a tokenizer can raise.
    """
    chosen = _chosen(spec)
    family = chosen.family
    if spec.append_roles is not None:
        family = replace(family, append_roles=spec.append_roles)
    kwargs = resolve_kwargs(family, with_reasoning_effort(family, spec.kwargs, None))
    tokenizer, ids = _tokenizer(spec, family)
    fresh = family_renderer(family, None, spec.source)
    template = fresh.template
    remembering = MemoTemplate(template)
    return Contract(
        target=_target(spec.name, family, template, kwargs, chosen.notes),
        renderer=Renderer(family, remembering),
        fresh=fresh,
        encoding=None if tokenizer is None else Renderer(family, remembering, tokenizer),
        later=_later(family, template),
        other=None if spec.other is None else Renderer(family, compile_template(spec.other)),
        promise=chosen.promise,
        ids=ids,
        kwargs=spec.kwargs,
    )


@dataclass(frozen=True, slots=True)
class _Choice:
    family: Family
    promise: Promise
    notes: tuple[str, ...] = ()


def _chosen(spec: TargetSpec) -> _Choice:
    if spec.source is None or spec.family is not None:
        family = spec.family or DEFAULT
        # An encoder written here refuses on purpose, with a sentence; the default promises nothing.
        is_encoder = family.encoder is not None and spec.source is None
        assumed = is_encoder or family.name == DEFAULT.name
        return _Choice(family, Promise.ASSUMED if assumed else Promise.DECLARED)
    found = detect(CheckpointFacts(template=spec.source.text, config={}))
    return _unknown(spec.source) if found is None else _native(found.family)


def _native(family: Family) -> _Choice:
    """A known template as it is: what the family fixes for its own is not given."""
    given = ", ".join(f"{name}={value}" for name, value in family.fixed_kwargs.items())
    without = f"; checked without what that family fixes ({given})" if given else ""
    note = f"this is the template of {contract_name(family)}{without}"
    bare = replace(family, encoder=None, fixed_kwargs={}, default_kwargs={})
    return _Choice(bare, Promise.ASSUMED, (note,))


def _unknown(source: TemplateSource) -> _Choice:
    """A template that nobody promised anything about: its own names for thinking are tried both ways."""
    read = compile_template(source).variables
    named = [name for name in THINKING_NAMES if name in read and not THINKING_NAMES[name]]
    pinned: Mapping[str, tuple[JsonValue, ...]] = dict.fromkeys(named[:1], (True, False))
    note = "titocli does not know this template: conversations that it raises for are counted as refused"
    return _Choice(replace(DEFAULT, pinned_kwargs=MappingProxyType(dict(pinned))), Promise.ASSUMED, (note,))


def _tokenizer(spec: TargetSpec, family: Family) -> tuple[Tokenizer | None, Ids]:
    if spec.tokenizer is not None:
        return load_tokenizer(spec.tokenizer), Ids.REAL
    return (tiny_tokenizer(family), Ids.BYTES) if family.required_tokens else (None, Ids.NONE)


def _later(family: Family, template: ConversationTemplate) -> Renderer | None:
    if not _is_jinja(template):
        return None
    return Renderer(family, compile_template(template.source, clock=lambda: _LATER))


def _is_jinja(template: ConversationTemplate) -> bool:
    return not template.source.name.endswith("(built-in encoder)")


def _target(
    name: str,
    family: Family,
    template: ConversationTemplate,
    kwargs: Mapping[str, JsonValue],
    notes: tuple[str, ...],
) -> Target:
    source = template.source
    return Target(
        name=name,
        family=family.name,
        variant=family.variant,
        template=source.name,
        sha256=source.sha256,
        source=source.text if _is_jinja(template) else "",
        append_roles=tuple(role.value for role in family.append_roles),
        kwargs=kwargs,
        notes=notes,
    )


__all__ = ["TargetSpec", "contract_of"]
