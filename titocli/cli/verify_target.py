"""What ``verify-template`` is asked to check: a family, a template's file, a checkpoint's directory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from titocli.cli.family_choice import choose_family
from titocli.cli.known_families import known_families
from titocli.cli.rendering import checkpoint_template
from titocli.errors import ConflictingOption, InvalidOption
from titocli.families.family import Family, Role
from titocli.families.template_source import TemplateSource, template_from_checkpoint, template_from_file
from titocli.jsonvalue import JsonValue
from titocli.verify.target import TargetSpec

NATIVE = "hf"
_TEMPLATE_ENDINGS = (".jinja", ".jinja2", ".j2")


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetOptions:
    """The options that say what is checked, as given."""

    target: str | None
    all_families: bool
    family: str | None
    variant: str | None
    tokenizer: str | None
    against: str | None
    kwargs: Mapping[str, JsonValue]
    append_roles: tuple[Role, ...]


def target_specs(options: TargetOptions) -> tuple[TargetSpec, ...]:
    """The targets; raises for a name that does not exist and a file that cannot be read."""
    if options.all_families:
        _refuse_beside_all(options)
        return tuple(_spec(options, _named(each), family=each) for each in _checkable())
    if options.target is None:
        raise InvalidOption(
            "nothing to check", hint="give a family, a .jinja file or a checkpoint directory, or --all"
        )
    return (_one(options, options.target),)


def _refuse_beside_all(options: TargetOptions) -> None:
    for given, option in (
        (options.target, "a target"),
        (options.tokenizer, "--tokenizer"),
        (options.against, "--against"),
        (options.family, "--family"),
    ):
        if given is not None:
            raise ConflictingOption(f"--all and {option} exclude each other", hint="give one of them")


def _checkable() -> tuple[Family, ...]:
    contracts = known_families().contracts()
    return tuple(each for each in contracts if each.template is not None or each.encoder is not None)


def _named(family: Family) -> str:
    return family.name if family.variant is None else f"{family.name}:{family.variant}"


def _one(options: TargetOptions, target: str) -> TargetSpec:
    path = Path(target)
    if path.is_dir():
        tokenizer = target if (path / "tokenizer.json").is_file() else None
        return _spec(options, target, source=template_from_checkpoint(path), tokenizer=tokenizer)
    if path.is_file() or target.endswith(_TEMPLATE_ENDINGS):
        return _spec(options, target, source=template_from_file(path))
    if options.family is not None:
        raise ConflictingOption(
            f"--family {options.family} holds a template's file to a family, and {target!r} is no file",
            hint="leave one of them out",
        )
    return _of_family(options, target)


def _of_family(options: TargetOptions, target: str) -> TargetSpec:
    name, _, variant = target.partition(":")
    choice = choose_family(name, options.variant or variant or None, options.tokenizer)
    source = None
    if choice.family.template is None and choice.family.encoder is None and options.tokenizer is not None:
        source = checkpoint_template(options.tokenizer)
    return _spec(options, target, family=choice.family, source=source)


def _spec(
    options: TargetOptions,
    name: str,
    *,
    family: Family | None = None,
    source: TemplateSource | None = None,
    tokenizer: str | None = None,
) -> TargetSpec:
    held_to = family
    if held_to is None and options.family is not None:
        held_to = known_families().get(options.family, options.variant)
    where = options.tokenizer or tokenizer
    return TargetSpec(
        name=name,
        family=held_to,
        source=source,
        kwargs=options.kwargs,
        append_roles=options.append_roles or None,
        tokenizer=where,
        other=None if options.against is None else _other(options.against, where),
    )


def _other(against: str, checkpoint: str | None) -> TemplateSource:
    if against != NATIVE:
        path = Path(against)
        return template_from_checkpoint(path) if path.is_dir() else template_from_file(path)
    if checkpoint is None:
        raise InvalidOption(
            "--against hf needs --tokenizer", hint="the checkpoint's own template lies beside its tokenizer"
        )
    return checkpoint_template(checkpoint)


__all__ = ["TargetOptions", "target_specs"]
