"""Where a chat template's text comes from: a shipped file, a user's file, a checkpoint directory."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from pathlib import Path

from titocli.errors import InvalidJson, UnknownName, UnreadableFile

_DEFAULT = "default"
_WITH_TOOLS = "tool_use"


@dataclass(frozen=True)
class TemplateSource:
    """A template's text and the name that errors show (a file name or a path).

    ``for_tools`` is the template that takes its place where there are tools.
    """

    name: str
    text: str
    for_tools: TemplateSource | None = None

    @cached_property
    def sha256(self) -> str:
        """Hex digest of the text in UTF-8: how templates are told apart."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def read_text(path: Path) -> str:
    """The UTF-8 text of a file, byte for byte; raises ``UnreadableFile`` that says in which way it failed."""
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise UnreadableFile(f"no such file: {path}", hint="check the path") from error
    except IsADirectoryError as error:
        raise UnreadableFile(f"{path} is a directory", hint="name a file in it") from error
    except OSError as error:
        raise UnreadableFile(f"cannot read {path}: {error.strerror}") from error
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UnreadableFile(
            f"{path} is not UTF-8 text (byte {error.start})", hint="convert it to UTF-8"
        ) from error


def _templates_folder() -> Path:
    packaged = Path(str(resources.files("titocli"))) / "templates"
    # An installed wheel carries the templates inside the package, a checkout has them beside it.
    return packaged if packaged.is_dir() else packaged.parent.parent / "templates"


def shipped_template(name: str) -> TemplateSource:
    """A template of ``templates/`` by its file name, or that of a registered family by its whole path."""
    return TemplateSource(name, read_text(_templates_folder() / name))


def template_from_file(path: Path) -> TemplateSource:
    """A template from a user's file."""
    return TemplateSource(str(path), read_text(path))


def template_from_checkpoint(folder: Path, name: str | None = None) -> TemplateSource:
    """A checkpoint's own template: ``chat_template.jinja``, else the one in its tokenizer config.

    A config may hold several: ``name`` picks one of them, the file is ``default``.  Without a name
    ``default`` is taken, and ``tool_use`` beside it, where there is one, for conversations with tools.
    Raises ``UnreadableFile`` where there is no template, ``UnknownName`` for a name that none has.
    """
    own, config = folder / "chat_template.jinja", folder / "tokenizer_config.json"
    if own.is_file():
        named = {_DEFAULT: template_from_file(own)}
    else:
        named = _templates_of_config(config) if config.is_file() else {}
    if not named:
        raise UnreadableFile(
            f"{folder} has no chat template",
            hint=f"expected {own.name}, or chat_template in {config.name}",
        )
    chosen = named.get(name or _DEFAULT)
    if chosen is None:
        raise UnknownName.among("template name", name or _DEFAULT, named)
    return chosen if name else replace(chosen, for_tools=named.get(_WITH_TOOLS))


def _read_config(path: Path) -> dict[str, object]:
    try:
        config = json.loads(read_text(path))
    except (ValueError, RecursionError):
        config = None
    if not isinstance(config, dict):
        raise InvalidJson(f"{path} is not a JSON object", hint="use --template FILE")
    return config


def _templates_of_config(path: Path) -> dict[str, TemplateSource]:
    template = _read_config(path).get("chat_template")
    if isinstance(template, str):
        return {_DEFAULT: TemplateSource(str(path), template)}
    entries = [entry for entry in template if isinstance(entry, dict)] if isinstance(template, list) else []
    return {
        str(entry.get("name")): TemplateSource(f"{path} (template {entry.get('name')})", entry["template"])
        for entry in entries
        if isinstance(entry.get("template"), str)
    }


__all__ = [
    "TemplateSource",
    "read_text",
    "shipped_template",
    "template_from_checkpoint",
    "template_from_file",
]
