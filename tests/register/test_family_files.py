"""Family files: written, read back the same, and refused with one sentence when they were edited wrongly."""

from __future__ import annotations

import tomllib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from titocli.errors import (
    ConflictingOption,
    InvalidFamilyFile,
    InvalidOption,
    UnreadableFile,
    UnwritableFile,
)
from titocli.families.family import (
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
from titocli.families.registry import all_contracts
from titocli.families.template_source import TemplateSource
from titocli.register.family_file import (
    family_document,
    family_file,
    family_names,
    read_family,
    refuse_name,
    remove_family,
    write_family,
)
from titocli.register.family_table import family_of, family_table
from titocli.register.scope import Scope
from titocli.register.toml_text import from_toml, toml_document

TEMPLATE = TemplateSource("somewhere.jinja", "{{ messages }}\r\n{# ü #}\n")

_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
_json = st.recursive(
    _scalars | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=4,
)
_text_tuples = st.lists(_texts, max_size=2).map(tuple)
_choices = st.dictionaries(_texts, st.lists(_json, max_size=2).map(tuple), max_size=2)
_kwargs = st.dictionaries(_texts, _json, max_size=2)
_families = st.builds(
    Family,
    name=st.from_regex(r"[a-z0-9][a-z0-9._-]{0,20}", fullmatch=True).filter(
        lambda name: name not in {one.name for one in all_contracts()}
    ),
    summary=_texts,
    checkpoints=st.lists(
        st.builds(Checkpoint, name=_texts, template_sha256=st.none() | _texts), max_size=2
    ).map(tuple),
    encoder=st.none() | st.sampled_from(Encoder),
    fixed_kwargs=_kwargs,
    default_kwargs=_kwargs,
    pinned_kwargs=_choices,
    turn_kwargs=_choices,
    refused_kwargs=st.dictionaries(_texts, _texts, max_size=2),
    effort_numbers=st.lists(st.tuples(st.integers(0, 9), st.floats(0, 1)), max_size=2).map(tuple),
    append_roles=st.lists(st.sampled_from(Role), min_size=1, unique=True).map(tuple),
    tool_runs=st.sampled_from(ToolRuns),
    content_parts=_text_tuples,
    boundary=st.builds(Glue, after=_texts, text=_texts)
    | st.builds(Trim, tokens=_text_tuples)
    | st.just(Concatenate()),
    suffix_base=st.sampled_from(SuffixBase),
    parsers=st.builds(
        Parsers,
        reasoning=st.none() | st.sampled_from(ReasoningGrammar),
        tool_call=st.none() | st.sampled_from(ToolCallGrammar),
        sglang_reasoning=st.none() | _texts,
        sglang_tool_call=st.none() | _texts,
    ),
    stop_tokens=_text_tuples,
    required_tokens=_text_tuples,
    assistant_start=st.none() | _texts,
    assistant_resumes=st.none() | _texts,
    comparator_trailing=_text_tuples,
    comparator_specials=_text_tuples,
    deviations=st.lists(st.builds(Deviation, what=_texts, why=_texts), max_size=2).map(tuple),
)


def _spelled(value: Any) -> str:
    """A value with its types: ``True`` is not ``1``, a list is a tuple."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_spelled, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {_spelled(item)}' for key, item in value.items())}}}"
    return repr(value)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_kwargs)
def test_every_json_value_comes_back_from_toml(table: dict[str, Any]) -> None:
    read = {name: from_toml(value) for name, value in tomllib.loads(toml_document(table)).items()}

    assert {name: _spelled(value) for name, value in read.items()} == {
        name: _spelled(value) for name, value in table.items()
    }


@settings(
    max_examples=50,
    deadline=None,
    # A family has two dozen members; each is small.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(family=_families)
def test_a_family_comes_back_from_its_file(tmp_path_factory: pytest.TempPathFactory, family: Family) -> None:
    folder = tmp_path_factory.mktemp("families")
    path = write_family(folder, family.name, family_document(family, TEMPLATE, ["A comment."]), TEMPLATE)
    read = read_family(path, Scope.PROJECT)

    assert read.origin == "project"
    assert Path(str(read.template)).read_bytes() == TEMPLATE.text.encode()
    for field in fields(Family):
        if field.name not in {"origin", "template"}:
            assert _spelled(getattr(read, field.name)) == _spelled(getattr(family, field.name)), field.name


@pytest.mark.parametrize("family", all_contracts(), ids=lambda one: f"{one.name}-{one.variant}")
def test_every_built_in_contract_can_be_said_in_a_table(family: Family) -> None:
    alone = replace(family, variant=None, variants={}, template=None)

    assert family_of(family_table(family, None), "here") == (alone, None)


def _file(folder: Path, text: str | None = None) -> Path:
    document = family_document(Family(name="mine", summary="A family."), TEMPLATE, [])
    return write_family(folder, "mine", document if text is None else text, TEMPLATE)


def _edited(folder: Path, old: str, new: str) -> Path:
    path = _file(folder)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path


@pytest.mark.parametrize(
    ("old", "new", "sentence", "hint"),
    [
        ("summary =", "sumary =", "unknown key sumary", "did you mean 'summary'?"),
        ("[boundary]", "[boundry]", "unknown key boundry", "did you mean 'boundary'?"),
        ("format = 1", "format = 1\nnotes = 'x'", "unknown key notes", "known: "),
        ('rule = "concatenate"', 'rule = "glue"', "boundary.after has to be a value: it is missing", None),
        ('rule = "concatenate"', 'rule = "weld"', "boundary.rule has to be glue, trim or concatenate", None),
        ('rule = "concatenate"', 'rule = "concatenate"\nx = 1', "unknown key boundary.x", None),
        ("format = 1", "format = 2", "format has to be 1", None),
        ("format = 1", "format = true", "format has to be a whole number", None),
        ('"user"', '"admin"', "append_roles has to be system or user", None),
        ('["text"]', '"text"', "content_parts has to be a list of texts", None),
        ('["text"]', "[1]", "content_parts has to be a list of texts", None),
        ('"A family."', "3", "summary has to be text", None),
        ('append_roles = ["system", "user", "assistant", "tool"]', "append_roles = []", "at least one", None),
        ("format = 1", "format = 1\nfixed_kwargs = 3", "fixed_kwargs has to be a table", None),
        (
            "format = 1",
            "format = 1\npinned_kwargs = {a = 1}",
            "pinned_kwargs has to be lists of values",
            None,
        ),
        (
            "format = 1",
            "format = 1\neffort_numbers = [[1]]",
            "effort_numbers has to be a list of pairs",
            None,
        ),
        ("format = 1", "format = ", "is not a family's TOML", None),
        ("format = 1", "format = 1979-05-27", "is not a family's TOML", None),
        ('name = "mine"', 'name = "yours"', "is called mine and the family in it yours", None),
        ('file = "mine.jinja"', 'file = "../mine.jinja"', "template.file has to be the name of a file", None),
        ("sha256 = ", "sha = ", "template.sha256 has to be", None),
    ],
)
def test_an_edited_file_is_refused_with_one_sentence(
    tmp_path: Path, old: str, new: str, sentence: str, hint: str | None
) -> None:
    path = _edited(tmp_path, old, new)

    with pytest.raises(InvalidFamilyFile) as caught:
        read_family(path, Scope.USER)
    assert sentence in caught.value.message
    assert str(path) in caught.value.message
    assert "\n" not in caught.value.message
    assert hint is None or hint in str(caught.value.hint)


def test_a_template_that_changed_since_is_refused(tmp_path: Path) -> None:
    path = _file(tmp_path)
    (tmp_path / "mine.jinja").write_text("{{ other }}")

    with pytest.raises(InvalidFamilyFile, match="is not the template that was registered"):
        read_family(path, Scope.USER)


def test_a_template_that_is_gone_is_named(tmp_path: Path) -> None:
    path = _file(tmp_path)
    (tmp_path / "mine.jinja").unlink()

    with pytest.raises(UnreadableFile, match=r"mine\.jinja"):
        read_family(path, Scope.USER)


def test_writing_leaves_nothing_beside_the_two_files(tmp_path: Path) -> None:
    _file(tmp_path / "new" / "folder")

    assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == [
        "mine.jinja",
        "mine.toml",
    ]


def test_a_folder_that_cannot_be_written_is_an_error_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(UnwritableFile):
        _file(tmp_path / "file")


def test_removing_takes_both_files_and_nothing_else(tmp_path: Path) -> None:
    _file(tmp_path)
    (tmp_path / "other.toml").write_text("")

    assert [path.name for path in remove_family(tmp_path, "mine")] == ["mine.toml", "mine.jinja"]
    assert family_names(tmp_path) == ("other",)
    assert family_file(tmp_path, "mine") is None
    assert remove_family(tmp_path, "mine") == ()


@pytest.mark.parametrize("name", ["../mine", "a/b", "", ".hidden", "Big", "x" * 65, "a b"])
def test_a_name_that_is_no_file_name_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidOption):
        refuse_name(name)
    assert family_file(tmp_path, name) is None


@pytest.mark.parametrize("name", ["qwen3", "default", "auto"])
def test_a_name_that_is_taken_is_refused(name: str) -> None:
    with pytest.raises(ConflictingOption):
        refuse_name(name)


def test_a_folder_that_is_not_there_has_no_families(tmp_path: Path) -> None:
    assert family_names(tmp_path / "nowhere") == ()
