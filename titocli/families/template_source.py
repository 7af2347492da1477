"""Where a chat template's text comes from: a shipped file, a user's file, a checkpoint directory."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path

from titocli.errors import InvalidJson, UnreadableFile


@dataclass(frozen=True)
class TemplateSource:
    """A template's text and the name that errors show (a file name or a path)."""

    name: str
    text: str

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
    """A template of ``templates/`` by its file name."""
    return TemplateSource(name, read_text(_templates_folder() / name))


def template_from_file(path: Path) -> TemplateSource:
    """A template from a user's file."""
    return TemplateSource(str(path), read_text(path))


def template_from_checkpoint(folder: Path) -> TemplateSource:
    """A checkpoint's own template: ``chat_template.jinja``, else the one in its tokenizer config."""
    own = folder / "chat_template.jinja"
    if own.is_file():
        return template_from_file(own)
    config = folder / "tokenizer_config.json"
    if config.is_file():
        text = _template_of_config(_read_config(config))
        if text is not None:
            return TemplateSource(str(config), text)
    raise UnreadableFile(
        f"{folder} has no chat template",
        hint="expected chat_template.jinja, or chat_template in tokenizer_config.json",
    )


def _read_config(path: Path) -> dict[str, object]:
    try:
        config = json.loads(read_text(path))
    except (ValueError, RecursionError):
        config = None
    if not isinstance(config, dict):
        raise InvalidJson(f"{path} is not a JSON object", hint="use --template FILE")
    return config


def _template_of_config(config: dict[str, object]) -> str | None:
    template = config.get("chat_template")
    if isinstance(template, str):
        return template
    if not isinstance(template, list):
        return None
    named = {entry.get("name"): entry.get("template") for entry in template if isinstance(entry, dict)}
    default = named.get("default")
    return default if isinstance(default, str) else None


__all__ = [
    "TemplateSource",
    "read_text",
    "shipped_template",
    "template_from_checkpoint",
    "template_from_file",
]
