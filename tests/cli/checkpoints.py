"""Checkpoint folders for the command line: a template of their own, a config, a small tokenizer."""

from __future__ import annotations

import json
from pathlib import Path

from tests.assets import native_template
from titocli.families.registry import get_family
from titocli.families.tiny import tiny_tokenizer
from titocli.jsonvalue import JsonValue


def native_text(template: str) -> str:
    """A checkpoint's own template."""
    return native_template(template).read_bytes().decode()


def checkpoint(
    folder: Path, family: str, template: str | None = None, config: dict[str, JsonValue] | None = None
) -> str:
    """A checkpoint with the control tokens of a family, by its path."""
    folder.mkdir()
    tokenizer = tiny_tokenizer(get_family(family))
    (folder / "tokenizer.json").write_bytes(tokenizer.definition.encode())
    if template is not None:
        (folder / "chat_template.jinja").write_bytes(template.encode())
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    return folder.name
