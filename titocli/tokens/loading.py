"""Tokenizers by place: a ``tokenizer.json``, a directory with one, a Hugging Face id.

A checkpoint that has a rank file in its place (Kimi's ``tiktoken.model``) is read from that.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from titocli.errors import (
    GatedRepository,
    HubUnreachable,
    InvalidJson,
    MissingExtra,
    MissingTokenizer,
    TitoError,
    UnfitTokenizer,
    UnknownRepository,
)
from titocli.tokens.rank_files import CONFIG_FILE, RANK_FILE, definition_from_ranks
from titocli.tokens.tokenizer import Tokenizer

TOKENIZER_FILE = "tokenizer.json"
#: Files that may hold a checkpoint's chat template, in the order in which they count.
TEMPLATE_FILES = ("chat_template.jinja", "tokenizer_config.json")

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_CHOICES = "give a tokenizer.json, a directory that has one, or a Hugging Face id (owner/name)"


def load_tokenizer(where: str) -> Tokenizer:
    """The tokenizer at ``where``.

    Raises ``MissingTokenizer`` when there is none (or no way to it), ``InvalidJson`` and ``UnfitTokenizer``
    when the file is none.
    """
    path = _local_file(where) or _hub_tokenizer(where)
    definition = definition_from_ranks(path.parent) if path.name == RANK_FILE else _read(path)
    try:
        return Tokenizer(definition, source=where)
    except Exception as error:
        # The library raises plain Exception for everything.
        raise _unusable(path, definition) from error


def checkpoint_folder(where: str) -> Path:
    """The directory of the checkpoint at ``where``, with its chat template if it has one."""
    local = _existing(where)
    if local is not None:
        return local if local.is_dir() else local.parent
    for name in TEMPLATE_FILES:
        try:
            return _hub_file(where, name).parent
        except _NoSuchEntry:
            continue
    raise MissingTokenizer(
        f"{where} has no chat template on the Hugging Face Hub", hint="use --template FILE"
    )


def checkpoint_file(where: str, name: str) -> Path | None:
    """A file of the checkpoint at ``where``, or None where the checkpoint has none of that name."""
    local = _existing(where)
    if local is not None:
        path = (local if local.is_dir() else local.parent) / name
        return path if path.is_file() else None
    try:
        return _hub_file(where, name)
    except _NoSuchEntry:
        return None


class _NoSuchEntry(MissingTokenizer):
    """The repository exists, the file does not."""


def _existing(where: str) -> Path | None:
    path = Path(where).expanduser()
    if path.exists():
        return path
    if not _HUB_ID.fullmatch(where) or where.endswith(".json"):
        raise MissingTokenizer(f"no such file or directory: {where}", hint=_CHOICES)
    return None


def _local_file(where: str) -> Path | None:
    path = _existing(where)
    if path is None or not path.is_dir():
        return path
    for name in (TOKENIZER_FILE, RANK_FILE):
        if (path / name).is_file():
            return path / name
    raise MissingTokenizer(
        f"{where} has no {TOKENIZER_FILE}",
        hint="a fast tokenizer is needed; transformers' AutoTokenizer writes one with save_pretrained",
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UnfitTokenizer(f"{path} is not UTF-8 text", hint=_CHOICES) from error
    except OSError as error:
        raise MissingTokenizer(f"cannot read {path}: {error.strerror}", hint=_CHOICES) from error


def _unusable(path: Path, definition: str) -> TitoError:
    try:
        json.loads(definition)
    except json.JSONDecodeError as error:
        return InvalidJson(
            f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}",
            hint="was the file downloaded completely?",
            details={"file": str(path), "line": error.lineno, "column": error.colno},
        )
    return UnfitTokenizer(
        f"{path} is not a tokenizer that the tokenizers library reads",
        hint=_CHOICES,
        details={"file": str(path)},
    )


def _hub_tokenizer(where: str) -> Path:
    try:
        return _hub_file(where, TOKENIZER_FILE)
    except _NoSuchEntry as no_tokenizer:
        try:
            rank_file = _hub_file(where, RANK_FILE)
        except _NoSuchEntry:
            raise no_tokenizer from None
        # Lands in the same folder.
        _hub_file(where, CONFIG_FILE)
        return rank_file


@dataclass(frozen=True, slots=True)
class _Refusal:
    """What is said of one way to miss a file of the hub; ``{where}``, ``{name}``, ``{cache}`` stand in it."""

    kind: type[MissingTokenizer]
    sentence: str
    hint: str

    def about(self, **facts: str) -> MissingTokenizer:
        details = {"repository": facts["where"], "file": facts["name"], "cache": facts["cache"]}
        return self.kind(self.sentence.format(**facts), hint=self.hint.format(**facts), details=details)


_GATED = _Refusal(
    GatedRepository,
    "{where} is gated on the Hugging Face Hub",
    "accept its terms on its page, then log in with: hf auth login",
)
_NO_REPOSITORY = _Refusal(
    UnknownRepository,
    "there is no {where}, neither here nor on the Hugging Face Hub",
    "check the spelling; a private repository needs: hf auth login",
)
_UNREACHABLE = _Refusal(
    HubUnreachable,
    "{where} is not in the cache {cache}, and the Hugging Face Hub cannot be reached",
    "when online and HF_HUB_OFFLINE is not set: hf download {where} {name}; text alone needs no tokenizer",
)
_NO_ENTRY = _Refusal(
    _NoSuchEntry,
    "{where} has no {name} on the Hugging Face Hub",
    "give the tokenizer of a checkpoint that has one",
)
_FAILED = _Refusal(
    MissingTokenizer,
    "{name} of {where} could not be fetched from the Hugging Face Hub",
    "try it on its own: hf download {where} {name}",
)


def _hub_file(where: str, name: str) -> Path:
    """A file of a repository of the Hugging Face Hub, downloaded or from its cache."""
    try:
        # Here, for it loads an HTTP client that local files do not need.
        from huggingface_hub import constants, hf_hub_download  # noqa: PLC0415
        from huggingface_hub import errors as hub  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtra(
            f"{where} is no local file, and huggingface_hub is not installed",
            hint="pip install huggingface_hub",
        ) from error
    # The most specific class first: a gated repository is also one that was not found.
    refusals = (
        (hub.GatedRepoError, _GATED),
        (hub.RepositoryNotFoundError, _NO_REPOSITORY),
        (hub.LocalEntryNotFoundError, _UNREACHABLE),
        (hub.EntryNotFoundError, _NO_ENTRY),
        (Exception, _FAILED),
    )
    try:
        return Path(hf_hub_download(where, name))
    except Exception as error:
        # The client's errors are many, and each wants its own hint; it says that a file is not in the cache
        # where the hub answered with an error too.
        refusal = next(refusal for kind, refusal in refusals if isinstance(error, kind))
        if refusal is _UNREACHABLE and isinstance(error.__cause__, hub.HfHubHTTPError):
            refusal = _FAILED
        raise refusal.about(where=where, name=name, cache=constants.HF_HUB_CACHE) from error


__all__ = [
    "TEMPLATE_FILES",
    "TOKENIZER_FILE",
    "checkpoint_file",
    "checkpoint_folder",
    "load_tokenizer",
]
