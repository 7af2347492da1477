"""A family as a table of plain values, and back: what a family file says, without the file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from titocli.families.family import (
    Boundary,
    Checkpoint,
    Concatenate,
    Deviation,
    Encoder,
    Family,
    Glue,
    Parsers,
    ReasoningGrammar,
    Role,
    SuffixBase,
    ToolCallGrammar,
    ToolRuns,
    Trim,
)
from titocli.jsonvalue import JsonObject, JsonValue
from titocli.register.table_reader import (
    TableReader,
    choices_of,
    integer_of,
    ranges_of,
    reasons_of,
    table_of,
    text_of,
    texts_of,
    word_of,
    words_of,
)

#: The version of the table's layout.
FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateFile:
    """The template of a family file: a file beside it, and the SHA-256 of its text."""

    file: str
    sha256: str


def family_table(family: Family, template: TemplateFile | None) -> dict[str, JsonValue]:
    """All of a family that has no variants, members at their defaults left out."""
    table: dict[str, JsonValue] = {
        "format": FORMAT,
        "name": family.name,
        "summary": family.summary,
        "append_roles": list(family.append_roles),
        "tool_runs": family.tool_runs.value,
        "suffix_base": family.suffix_base.value,
        "content_parts": list(family.content_parts),
        "stop_tokens": list(family.stop_tokens),
        "required_tokens": list(family.required_tokens),
        "assistant_start": family.assistant_start,
        "assistant_resumes": family.assistant_resumes,
        "comparator_trailing": list(family.comparator_trailing),
        "comparator_specials": list(family.comparator_specials),
        "effort_numbers": [list(numbers) for numbers in family.effort_numbers],
        "encoder": family.encoder,
        "template": None if template is None else {"file": template.file, "sha256": template.sha256},
        "boundary": _boundary_table(family.boundary),
        "parsers": _parsers_table(family.parsers),
        "fixed_kwargs": dict(family.fixed_kwargs),
        "default_kwargs": dict(family.default_kwargs),
        "pinned_kwargs": {name: list(values) for name, values in family.pinned_kwargs.items()},
        "turn_kwargs": {name: list(values) for name, values in family.turn_kwargs.items()},
        "refused_kwargs": dict(family.refused_kwargs),
        "checkpoints": [_checkpoint_table(one) for one in family.checkpoints],
        "deviations": [{"what": one.what, "why": one.why} for one in family.deviations],
    }
    return {name: value for name, value in table.items() if name in _ALWAYS or value not in (None, [], {})}


#: Members that a table always has; the others are empty where they are left out.
_ALWAYS = ("format", "name", "summary", "append_roles", "content_parts", "boundary")


def _boundary_table(rule: Boundary) -> JsonObject:
    if isinstance(rule, Glue):
        return {"rule": "glue", "after": rule.after, "text": rule.text}
    if isinstance(rule, Trim):
        return {"rule": "trim", "tokens": list(rule.tokens)}
    return {"rule": "concatenate"}


def _parsers_table(parsers: Parsers) -> JsonObject:
    table: dict[str, JsonValue] = {
        "reasoning": parsers.reasoning,
        "tool_call": parsers.tool_call,
        "sglang_reasoning": parsers.sglang_reasoning,
        "sglang_tool_call": parsers.sglang_tool_call,
    }
    return {name: value for name, value in table.items() if value is not None}


def _checkpoint_table(one: Checkpoint) -> JsonObject:
    table: dict[str, JsonValue] = {"name": one.name}
    return table if one.template_sha256 is None else {**table, "template_sha256": one.template_sha256}


def family_of(table: JsonObject, place: str) -> tuple[Family, TemplateFile | None]:
    """The family of a table and its template file; raises ``InvalidFamilyFile`` that names ``place``.

    The family's own ``template`` is not set: only who reads the file knows where it is.
    """
    reader = TableReader(table, place)
    if reader.take("format", integer_of) != FORMAT:
        raise reader.wrong("format", f"{FORMAT}", "it was written by another version of titocli")
    family = Family(
        name=reader.take("name", text_of),
        summary=reader.take("summary", text_of),
        append_roles=reader.take("append_roles", words_of(Role)),
        tool_runs=reader.take_or("tool_runs", word_of(ToolRuns), ToolRuns.ANY),
        suffix_base=reader.take_or("suffix_base", word_of(SuffixBase), SuffixBase.SYNTHETIC),
        content_parts=reader.take("content_parts", texts_of),
        stop_tokens=reader.take_or("stop_tokens", texts_of, ()),
        required_tokens=reader.take_or("required_tokens", texts_of, ()),
        assistant_start=reader.take_or("assistant_start", text_of, None),
        assistant_resumes=reader.take_or("assistant_resumes", text_of, None),
        comparator_trailing=reader.take_or("comparator_trailing", texts_of, ()),
        comparator_specials=reader.take_or("comparator_specials", texts_of, ()),
        encoder=reader.take_or("encoder", word_of(Encoder), None),
        boundary=_boundary(TableReader(reader.take("boundary", table_of), place, "boundary.")),
        parsers=_parsers(reader.section("parsers")),
        fixed_kwargs=reader.take_or("fixed_kwargs", table_of, {}),
        default_kwargs=reader.take_or("default_kwargs", table_of, {}),
        pinned_kwargs=reader.take_or("pinned_kwargs", choices_of, {}),
        turn_kwargs=reader.take_or("turn_kwargs", choices_of, {}),
        refused_kwargs=reader.take_or("refused_kwargs", reasons_of, {}),
        effort_numbers=reader.take_or("effort_numbers", ranges_of, ()),
        checkpoints=tuple(map(_checkpoint, reader.listed("checkpoints"))),
        deviations=tuple(map(_deviation, reader.listed("deviations"))),
    )
    template = _template(reader.section("template")) if "template" in table else None
    reader.refuse_unread()
    if not family.append_roles:
        raise reader.wrong("append_roles", "at least one role")
    return family, template


def _boundary(reader: TableReader) -> Boundary:
    rules: dict[str, Callable[[], Boundary]] = {
        "glue": lambda: Glue(after=reader.take("after", text_of), text=reader.take("text", text_of)),
        "trim": lambda: Trim(tokens=reader.take("tokens", texts_of)),
        "concatenate": Concatenate,
    }
    rule = reader.take("rule", text_of)
    if rule not in rules:
        raise reader.wrong("rule", "glue, trim or concatenate")
    boundary = rules[rule]()
    reader.refuse_unread()
    return boundary


def _parsers(reader: TableReader) -> Parsers:
    parsers = Parsers(
        reasoning=reader.take_or("reasoning", word_of(ReasoningGrammar), None),
        tool_call=reader.take_or("tool_call", word_of(ToolCallGrammar), None),
        sglang_reasoning=reader.take_or("sglang_reasoning", text_of, None),
        sglang_tool_call=reader.take_or("sglang_tool_call", text_of, None),
    )
    reader.refuse_unread()
    return parsers


def _template(reader: TableReader) -> TemplateFile:
    template = TemplateFile(file=reader.take("file", text_of), sha256=reader.take("sha256", text_of))
    reader.refuse_unread()
    return template


def _checkpoint(reader: TableReader) -> Checkpoint:
    one = Checkpoint(
        name=reader.take("name", text_of), template_sha256=reader.take_or("template_sha256", text_of, None)
    )
    reader.refuse_unread()
    return one


def _deviation(reader: TableReader) -> Deviation:
    one = Deviation(what=reader.take("what", text_of), why=reader.take("why", text_of))
    reader.refuse_unread()
    return one


__all__ = ["FORMAT", "TemplateFile", "family_of", "family_table"]
