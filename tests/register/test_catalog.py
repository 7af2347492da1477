"""All families together: who comes first, what is broken, what plugins bring."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from titocli.errors import InvalidFamilyFile, UnknownName
from titocli.families.family import Family
from titocli.families.registry import BUILT_IN
from titocli.register.catalog import Catalog
from titocli.register.family_file import family_document, write_family
from titocli.register.plugins import PluginFamilies, plugin_families
from titocli.register.scope import Scope


def _no_plugins() -> PluginFamilies:
    return PluginFamilies()


def _register(folder: Path, name: str, summary: str) -> None:
    family = Family(name=name, summary=summary)
    write_family(folder, name, family_document(family, None, []), None)


def _catalog(tmp_path: Path, plugins: PluginFamilies | None = None) -> Catalog:
    return Catalog(
        folders=((Scope.PROJECT, tmp_path / "project"), (Scope.USER, tmp_path / "user")),
        load_plugins=lambda: plugins or PluginFamilies(),
    )


def test_a_project_comes_before_a_user_and_a_user_before_a_plugin(tmp_path: Path) -> None:
    for folder in ("project", "user"):
        _register(tmp_path / folder, "both", folder)
    _register(tmp_path / "user", "mine", "user")
    plugin = Family(name="mine", summary="plugin", origin="plugin x")
    catalog = _catalog(tmp_path, PluginFamilies(families=(plugin, Family(name="theirs", summary="plugin"))))

    assert catalog.get("both").summary == "project"
    assert catalog.get("mine").origin == "user"
    assert catalog.get("theirs").summary == "plugin"
    assert [family.name for family in catalog.added()] == ["both", "mine", "theirs"]
    assert catalog.names() == (*BUILT_IN, "both", "mine", "theirs")


def test_a_built_in_name_is_never_taken_from_a_file(tmp_path: Path) -> None:
    _register(tmp_path / "user", "qwen3", "an impostor")

    assert _catalog(tmp_path).get("qwen3") is BUILT_IN["qwen3"]
    assert _catalog(tmp_path).names() == tuple(BUILT_IN)


def test_a_built_in_family_is_found_without_reading_anything() -> None:
    def fail() -> PluginFamilies:
        raise AssertionError

    catalog = Catalog(folders=((Scope.USER, Path("/nonexistent")),), load_plugins=fail)

    assert catalog.get("glm47", "5.1").variant == "5.1"


def test_an_unknown_name_is_compared_with_registered_ones(tmp_path: Path) -> None:
    _register(tmp_path / "user", "my-model", "user")

    with pytest.raises(UnknownName) as caught:
        _catalog(tmp_path).get("my-modle")
    assert "did you mean 'my-model'?" in str(caught.value.hint)


def test_a_registered_family_has_no_variants(tmp_path: Path) -> None:
    _register(tmp_path / "user", "mine", "user")

    with pytest.raises(UnknownName, match="variant of mine"):
        _catalog(tmp_path).get("mine", "large")


def test_a_broken_file_is_told_and_hides_no_other_family(tmp_path: Path) -> None:
    _register(tmp_path / "user", "good", "user")
    (tmp_path / "user" / "bad.toml").write_text("nonsense")
    catalog = _catalog(tmp_path)

    assert [family.name for family in catalog.added()] == ["good"]
    assert len(catalog.problems()) == 1
    assert "bad.toml" in catalog.problems()[0]
    with pytest.raises(InvalidFamilyFile):
        catalog.get("bad")


def _install(site: Path, package: str, entry_points: str, source: str) -> None:
    """A package as pip leaves it: a module and its metadata."""
    metadata = site / f"{package}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[titocli.families]\n{entry_points}\n")
    (site / f"{package.replace('-', '_')}.py").write_text(source)


_GOOD = """
from titocli.families.family import Family

ONE = Family(name="plugin-one", summary="one")

def several():
    return [Family(name="plugin-two", summary="two"), Family(name="qwen3", summary="an impostor")]
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("toy_good", "toy_bad"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def test_packages_bring_families_by_entry_points(site: Path) -> None:
    _install(site, "toy-good", "a = toy_good:ONE\nb = toy_good:several", _GOOD)
    found = plugin_families()

    assert [(family.name, family.origin) for family in found.families] == [
        ("plugin-one", "plugin toy-good"),
        ("plugin-two", "plugin toy-good"),
    ]
    assert found.problems == ("the family plugin 'b' of toy-good has a family 'qwen3', a name that is taken",)


@pytest.mark.parametrize(
    ("entry", "source", "why"),
    [
        ("x = toy_bad:GONE", "", "AttributeError"),
        ("x = toy_bad:BROKEN", "raise ValueError('at import\\nof it')", "ValueError: at import of it"),
        ("x = toy_bad:NUMBER", "NUMBER = 3", "it gives a int, not a Family"),
        ("x = toy_missing:FAMILY", "", "ModuleNotFoundError"),
        (
            "x = toy_bad:FAMILY",
            "from titocli.families.family import Family\n"
            "FAMILY = Family(name='x', summary='', template='nowhere.jinja')",
            "the template of its family 'x' is not the path of a file",
        ),
    ],
)
def test_a_broken_plugin_is_one_sentence_that_names_it(site: Path, entry: str, source: str, why: str) -> None:
    _install(site, "toy-bad", entry, source)
    found = plugin_families()

    assert found.families == ()
    assert len(found.problems) == 1
    assert found.problems[0].startswith("the family plugin 'x' of toy-bad cannot be used: ")
    assert why in found.problems[0]
    assert "\n" not in found.problems[0]


def test_the_sentence_about_a_plugin_comes_with_an_unknown_name(tmp_path: Path) -> None:
    catalog = _catalog(tmp_path, PluginFamilies(problems=("the family plugin 'x' cannot be used: y",)))

    with pytest.raises(UnknownName) as caught:
        catalog.get("from-the-plugin")
    assert "the family plugin 'x' cannot be used: y" in str(caught.value.hint)
