"""Registered families as files: ``NAME.toml``, and its template ``NAME.jinja`` beside it.

The only module of this package that writes.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from titocli.errors import ConflictingOption, InvalidFamilyFile, InvalidOption, UnwritableFile
from titocli.families.family import Family
from titocli.families.registry import BUILT_IN
from titocli.families.template_source import TemplateSource, read_text
from titocli.jsonvalue import JsonObject
from titocli.register.family_table import TemplateFile, family_of, family_table
from titocli.register.scope import Scope
from titocli.register.toml_text import from_toml, toml_document

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
#: What ``--family`` takes for something else than a name.
_RESERVED = ("auto",)


def refuse_name(name: str) -> None:
    """Raise for a name that no registered family may have."""
    if name in BUILT_IN or name in _RESERVED:
        what = "a built-in family" if name in BUILT_IN else "reserved"
        raise ConflictingOption(f"{name!r} is {what}", hint="choose another name", details={"name": name})
    if not _NAME.fullmatch(name):
        raise InvalidOption(
            f"{name!r} cannot be a family's name",
            hint="small letters, digits, dots, dashes and underscores, a letter or digit first",
            details={"name": name},
        )


def family_document(family: Family, template: TemplateSource | None, comments: Sequence[str]) -> str:
    """The text of a family's file; ``comments`` stand at its head."""
    file = None if template is None else TemplateFile(file=f"{family.name}.jinja", sha256=template.sha256)
    return toml_document(family_table(family, file), comments)


def write_family(folder: Path, name: str, document: str, template: TemplateSource | None) -> Path:
    """Write both files, the template first; returns the path of the first.  Raises ``UnwritableFile``."""
    path = folder / f"{name}.toml"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if template is not None:
            _write(folder / f"{name}.jinja", template.text)
        _write(path, document)
    except OSError as error:
        raise UnwritableFile(
            f"cannot write {path}: {error.strerror}", hint="check the folder and its permissions"
        ) from error
    return path


def _write(path: Path, text: str) -> None:
    """Write a whole file or none."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(text.encode())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def remove_family(folder: Path, name: str) -> tuple[Path, ...]:
    """Delete a family's files; returns those that were there.  Raises ``UnwritableFile``."""
    files = [path for path in (folder / f"{name}.toml", folder / f"{name}.jinja") if path.is_file()]
    try:
        for path in files:
            path.unlink()
    except OSError as error:
        raise UnwritableFile(f"cannot delete {path}: {error.strerror}") from error
    return tuple(files)


def family_file(folder: Path, name: str) -> Path | None:
    """The file of a registered family, None where there is none of that name."""
    path = folder / f"{name}.toml"
    return path if _NAME.fullmatch(name) and path.is_file() else None


def family_names(folder: Path) -> tuple[str, ...]:
    """The names of the families in a folder, sorted; none where it cannot be listed."""
    try:
        files = sorted(folder.glob("*.toml"))
    except OSError:
        return ()
    return tuple(path.stem for path in files if path.is_file() and _NAME.fullmatch(path.stem))


def read_family(path: Path, scope: Scope) -> Family:
    """The family of a file, its template checked.

    Raises ``InvalidFamilyFile`` for a file that says something else than a family, ``UnreadableFile``.
    """
    family, template = family_of(_table(path), str(path))
    if family.name != path.stem:
        raise InvalidFamilyFile(
            f"{path}: the file is called {path.stem} and the family in it {family.name}",
            hint="the two have to be the same",
            details={"file": str(path)},
        )
    file = None if template is None else str(_checked(path, template))
    return replace(family, template=file, origin=scope.value)


def _table(path: Path) -> JsonObject:
    try:
        table = from_toml(tomllib.loads(read_text(path)))
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        raise InvalidFamilyFile(
            f"{path} is not a family's TOML: {error}",
            hint="mend it, or register the family again: titocli register-family NAME --force",
            details={"file": str(path)},
        ) from error
    return table if isinstance(table, Mapping) else {}


def _checked(path: Path, template: TemplateFile) -> Path:
    """The path of the template, which is what was verified when the family was registered."""
    file = path.parent / template.file
    if Path(template.file).name != template.file:
        raise InvalidFamilyFile(
            f"{path}: template.file has to be the name of a file beside it",
            details={"file": str(path), "key": "template.file"},
        )
    if TemplateSource(file.name, read_text(file)).sha256 != template.sha256:
        raise InvalidFamilyFile(
            f"{file} is not the template that was registered: its SHA-256 differs from that in {path.name}",
            hint="register it again: titocli register-family NAME --template FILE --force",
            details={"file": str(file), "sha256": template.sha256},
        )
    return file.absolute()


__all__ = [
    "family_document",
    "family_file",
    "family_names",
    "read_family",
    "refuse_name",
    "remove_family",
    "write_family",
]
