"""A checkpoint's contract, inferred from how its template renders the probes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from titocli.errors import TemplateRaised
from titocli.families.family import Boundary, Checkpoint, Family, Glue, SuffixBase, Trim
from titocli.families.thinking import THINKING_NAMES
from titocli.jsonvalue import JsonValue
from titocli.register.blame import Blame, blame
from titocli.register.findings import Finding, Inferred
from titocli.register.grammar import infer_parsers
from titocli.register.probes import REWRITING
from titocli.register.rewriting import CORE_ROLES
from titocli.register.roles import append_roles
from titocli.register.shapes import content_parts, required_tokens, suffix_base, tool_runs, tools_printed
from titocli.register.subject import Subject
from titocli.register.switches import Switches, append_only_kwargs, classify, least_rewriting
from titocli.register.turns import Turns, infer_turns
from titocli.register.variables import Variable, free_special_tokens, template_variables


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """What was inferred.

    ``family`` has no template file yet; its template prints tools where it ``has_tools``.  ``blame`` says why
    a template is not append-only whatever its kwargs; the contract is then the nearest thing to one.
    """

    family: Family
    findings: tuple[Finding, ...]
    has_tools: bool
    blame: Blame | None = None


def infer(subject: Subject, name: str, given: Mapping[str, JsonValue]) -> Inference:
    """The contract of a subject as a family called ``name``, with ``given`` kwargs fixed.

    Raises what the template raises for one plain question (``TemplateRaised``).
    """
    _refuse_silent(subject, given)
    text = subject.template.source.text
    variables = [one for one in template_variables(text) if one.name not in given]
    tokens = _special_tokens(subject, text)
    base: dict[str, JsonValue] = {**tokens, **given}
    chosen = append_only_kwargs(subject, variables, base)
    if chosen is None:
        return _refused(subject, name, base, variables)
    switches = _one_name_of_thinking(classify(subject, variables, {**base, **chosen.value}))
    return _inferred(subject, name, switches, chosen)


def _inferred(
    subject: Subject, name: str, switches: Switches, chosen: Inferred[dict[str, JsonValue]]
) -> Inference:
    kwargs = switches.fixed_kwargs
    settings = _settings(kwargs, {**switches.pinned_kwargs, **switches.turn_kwargs})
    turns = infer_turns(subject, settings)
    family = _with_turns(subject, _bare(subject, name), turns)
    roles = append_roles(subject, kwargs)
    parts = content_parts(subject, kwargs)
    tools = tools_printed(subject, kwargs)
    runs = tool_runs(subject, kwargs)
    base = suffix_base(subject, kwargs, roles.value)
    required = required_tokens(subject, kwargs)
    parsers, parser_findings = infer_parsers(subject, family, settings)
    family = replace(
        family,
        fixed_kwargs=dict(kwargs),
        pinned_kwargs=dict(switches.pinned_kwargs),
        turn_kwargs=dict(switches.turn_kwargs),
        refused_kwargs=dict(switches.refused_kwargs),
        append_roles=roles.value,
        content_parts=parts.value,
        tool_runs=runs.value,
        suffix_base=base.value,
        required_tokens=_unique(required.value, family.required_tokens),
        parsers=parsers,
    )
    findings = (
        chosen.finding,
        *switches.findings,
        *turns.findings,
        roles.finding,
        *parser_findings,
        parts.finding,
        tools.finding,
        runs.finding,
        base.finding,
        required.finding,
    )
    return Inference(family=family, findings=findings, has_tools=tools.value)


def _one_name_of_thinking(switches: Switches) -> Switches:
    """Without second names of thinking: for titocli they are one setting."""
    named = [name for name in THINKING_NAMES if name in {**switches.pinned_kwargs, **switches.turn_kwargs}]
    return replace(
        switches,
        pinned_kwargs={k: v for k, v in switches.pinned_kwargs.items() if k not in named[1:]},
        turn_kwargs={k: v for k, v in switches.turn_kwargs.items() if k not in named[1:]},
    )


def _refused(
    subject: Subject, name: str, given: Mapping[str, JsonValue], variables: list[Variable]
) -> Inference:
    """What is known of a template that no kwargs make append-only, with those that come nearest."""
    kwargs, rewritten = least_rewriting(subject, variables, given)
    settings = _settings(kwargs, {one.name: one.values for one in variables})
    turns = infer_turns(subject, settings)
    roles = append_roles(subject, kwargs)
    family = replace(_with_turns(subject, _bare(subject, name), turns), fixed_kwargs=dict(kwargs))
    parsers, parser_findings = infer_parsers(subject, family, settings)
    tried = ", ".join(variable.name for variable in variables) or "it reads none"
    finding = Finding(
        name="append-only kwargs",
        value="none found",
        held=len(REWRITING) - rewritten,
        probes=len(REWRITING),
        sentence=f"kwargs tried alone and in pairs: {tried}",
    )
    return Inference(
        family=replace(
            family,
            append_roles=roles.value,
            content_parts=content_parts(subject, kwargs).value,
            suffix_base=SuffixBase.REAL_HISTORY,
            required_tokens=_unique(required_tokens(subject, kwargs).value, family.required_tokens),
            parsers=parsers,
        ),
        findings=(finding, *turns.findings, roles.finding, *parser_findings),
        has_tools=tools_printed(subject, kwargs).value,
        blame=blame(subject, kwargs, CORE_ROLES),
    )


def _settings(
    kwargs: Mapping[str, JsonValue], choices: Mapping[str, Sequence[JsonValue]]
) -> list[Mapping[str, JsonValue]]:
    """The kwargs alone, and with each value of each of ``choices``."""
    single = ({**kwargs, name: value} for name, values in choices.items() for value in values)
    return [kwargs, *single]


def _refuse_silent(subject: Subject, kwargs: Mapping[str, JsonValue]) -> None:
    """Raise for a template that cannot render one question, as the template itself says it."""
    text = subject.template.render(
        messages=[{"role": "user", "content": "said0x"}],
        tools=(),
        add_generation_prompt=False,
        **{**subject.kwargs, **kwargs},
    )
    if "said0x" not in text:
        raise TemplateRaised(
            f"{subject.template.source.name} does not print a user message",
            hint="is it a chat template?",
            details={"file": subject.template.source.name},
        )


def _special_tokens(subject: Subject, text: str) -> dict[str, JsonValue]:
    read = free_special_tokens(text)
    return {name: token for name, token in sorted(subject.files.special_tokens.items()) if name in read}


def _bare(subject: Subject, name: str) -> Family:
    files = subject.files
    checkpoints = (Checkpoint(name=files.name, template_sha256=files.template_sha256),)
    return Family(name=name, summary=f"registered from {files.name}", checkpoints=checkpoints)


def _with_turns(subject: Subject, family: Family, turns: Turns) -> Family:
    return replace(
        family,
        boundary=turns.boundary,
        stop_tokens=turns.stop_tokens,
        assistant_start=turns.assistant_start,
        comparator_trailing=comparator_trailing(turns.boundary),
        required_tokens=tuple(
            token for token in _of_boundary(turns.boundary) if subject.tokenizer.token_id(token) is not None
        ),
    )


def comparator_trailing(boundary: Boundary) -> tuple[str, ...]:
    """What a stored history may lack at its end beside its canonical text: the boundary's own text."""
    if isinstance(boundary, Glue):
        return (boundary.text,)
    return boundary.tokens if isinstance(boundary, Trim) else ()


def _of_boundary(boundary: Boundary) -> tuple[str, ...]:
    if isinstance(boundary, Glue):
        return (boundary.after,)
    return boundary.tokens if isinstance(boundary, Trim) else ()


def _unique(*several: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(token for tokens in several for token in tokens))


__all__ = ["Inference", "comparator_trailing", "infer"]
