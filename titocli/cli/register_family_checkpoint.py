"""What ``register-family`` reads of a checkpoint: template, tokenizer, stop tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from titocli.cli.family_choice import checkpoint_template_if_any
from titocli.errors import ConflictingOption, InvalidJson, InvalidOption, UnreadableFile
from titocli.families.template_source import TemplateSource, read_text, template_from_file
from titocli.jsonvalue import JsonValue
from titocli.register.subject import CheckpointFiles
from titocli.register.variables import SPECIAL_TOKENS
from titocli.tokens.loading import checkpoint_file, load_tokenizer
from titocli.tokens.tokenizer import Tokenizer


def read_tokenizer(checkpoint: str | None, tokenizer: str | None) -> Tokenizer:
    """The tokenizer of ``--tokenizer``, else of ``--checkpoint``; raises ``InvalidOption`` without either."""
    where = tokenizer or checkpoint
    if where is None:
        raise InvalidOption(
            "a family needs a tokenizer to be proved",
            hint="give --checkpoint DIR|HF_ID, or --tokenizer beside --template",
        )
    return load_tokenizer(where)


def read_template(checkpoint: str | None, template: Path | None) -> TemplateSource:
    """The template of ``--template``, else of ``--checkpoint``.

    Raises ``UnreadableFile`` where the checkpoint has none, ``ConflictingOption`` where it has two.
    """
    source = template_from_file(template) if template is not None else None
    if source is None and checkpoint is not None:
        source = checkpoint_template_if_any(checkpoint)
    if source is None:
        raise UnreadableFile(
            f"{checkpoint or 'the tokenizer'} has no chat template", hint="give one with --template FILE"
        )
    if source.for_tools is not None:
        raise ConflictingOption(
            f"{checkpoint} has two templates, one of them for conversations with tools",
            hint="a family has one: give it with --template FILE",
        )
    return source


def read_files(where: str | None, tokenizer: Tokenizer, template: TemplateSource | None) -> CheckpointFiles:
    """What a checkpoint (None: there is none) says of stop tokens and special tokens."""
    generation, config, tokenization = (
        _document(where, name) for name in ("generation_config.json", "config.json", "tokenizer_config.json")
    )
    ids = [*_ids(generation), *_ids(config)]
    texts = [tokenizer.token_bytes(one).decode(errors="replace") for one in ids]
    special = {name: text for name in sorted(SPECIAL_TOKENS) if (text := _token_text(tokenization.get(name)))}
    named = [special[name] for name in ("eos_token",) if name in special]
    return CheckpointFiles(
        name=where or tokenizer.source,
        template_sha256=None if template is None else template.sha256,
        stop_tokens=tuple(dict.fromkeys(text for text in (*texts, *named) if text)),
        special_tokens=special,
    )


def _ids(document: Mapping[str, JsonValue]) -> Iterator[int]:
    """The end-of-sequence ids of a configuration, its text model's included."""
    inner = document.get("text_config")
    for each in (document, inner if isinstance(inner, Mapping) else {}):
        value = each.get("eos_token_id")
        ids = value if isinstance(value, list | tuple) else [value]
        yield from (one for one in ids if isinstance(one, int) and not isinstance(one, bool) and one >= 0)


def _token_text(value: JsonValue) -> str | None:
    content = value.get("content") if isinstance(value, Mapping) else value
    return content if isinstance(content, str) else None


def _document(where: str | None, name: str) -> Mapping[str, JsonValue]:
    path = None if where is None else checkpoint_file(where, name)
    if path is None:
        return {}
    try:
        document = json.loads(read_text(path))
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise InvalidJson(f"{path} is not a JSON object", hint="was the file downloaded completely?")
    return document


__all__ = ["read_files", "read_template", "read_tokenizer"]
